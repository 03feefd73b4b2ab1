use super::*;
use proptest::prelude::*;

/// Returns the content, how many bytes were read, and whether the body ended. The input is cut after each of `cuts`.
fn decoded(coded: &[u8], cuts: &[usize]) -> Result<(Vec<u8>, usize, bool), &'static str> {
    let (mut decoder, mut data) = (Decoder::default(), BytesMut::new());
    let (mut used, mut from) = (0, 0);
    for cut in cuts.iter().copied().chain([coded.len()]) {
        let to = cut.clamp(from, coded.len());
        used += decoder.decode(&coded[from..to], &mut data)?;
        from = to;
    }
    Ok((data.to_vec(), used, decoder.is_done()))
}

#[test]
fn what_is_well_formed() {
    for (row, coded, content) in [
        ("nothing", "0\r\n\r\n", ""),
        ("one", "3\r\nabc\r\n0\r\n\r\n", "abc"),
        ("several", "1\r\na\r\n2\r\nbc\r\n0\r\n\r\n", "abc"),
        ("zeros before", "0003\r\nabc\r\n000\r\n\r\n", "abc"),
        (
            "both cases",
            "A\r\n0123456789\r\nb\r\n0123456789-\r\n0\r\n\r\n",
            "01234567890123456789-",
        ),
        (
            "content like framing",
            "5\r\n\r\n0\r\n\r\n0\r\n\r\n",
            "\r\n0\r\n",
        ),
        (
            "7.1.1: extensions",
            "3;a;b=c;d=\"e;f\"\r\nabc\r\n0;g\r\n\r\n",
            "abc",
        ),
        ("7.1.1: BWS", "3 ;a\r\nabc\r\n0\t\r\n\r\n", "abc"),
        (
            "7.1.2: trailers",
            "3\r\nabc\r\n0\r\nA: b\r\nC:\r\n\r\n",
            "abc",
        ),
    ] {
        let want = (content.as_bytes().to_vec(), coded.len(), true);
        assert_eq!(decoded(coded.as_bytes(), &[]), Ok(want), "{row}");
        let part = coded.len() - 1;
        let (_, used, done) = decoded(&coded.as_bytes()[..part], &[]).unwrap();
        assert_eq!(
            (used, done),
            (part, false),
            "{row}: not before its last byte"
        );
    }
}

#[test]
fn what_is_malformed() {
    for (row, coded) in [
        ("no size", "\r\nabc"),
        ("no digit", "g\r\n"),
        ("signed", "+3\r\n"),
        ("negative", "-3\r\n"),
        ("prefixed", "0x3\r\n"),
        ("space before", " 3\r\n"),
        ("digits apart", "1 1\r\n"),
        ("overflow", "10000000000000000\r\n"),
        ("more overflow", "fffffffffffffffff\r\n"),
        ("bare LF after the size", "3\nabc\r\n0\r\n\r\n"),
        ("bare CR after the size", "3\rabc"),
        ("bare LF in an extension", "3;a\nabc"),
        ("NUL in an extension", "3;a\0\r\n"),
        ("longer than said", "3\r\nabcd\r\n"),
        ("shorter than said", "3\r\nab\r\n0\r\n\r\n"),
        ("bare LF after the content", "3\r\nabc\n0\r\n\r\n"),
        ("bare LF at the end", "0\r\n\n"),
        ("a trailer without a name", "0\r\n: a\r\n\r\n"),
        ("a trailer without a colon", "0\r\nabc\r\n\r\n"),
        ("a folded trailer", "0\r\nA: b\r\n c\r\n\r\n"),
        ("a trailer with a bare LF", "0\r\nA: b\nC: d\r\n\r\n"),
        ("a trailer with a bare CR", "0\r\nA: b\rc\r\n\r\n"),
        ("a name with a space", "0\r\nA : b\r\n\r\n"),
    ] {
        assert!(decoded(coded.as_bytes(), &[]).is_err(), "{row}");
    }
}

#[test]
fn lines_have_an_end() {
    let long = "x".repeat(usize::from(MOST_SURPLUS));
    let zeros = "0".repeat(usize::from(LONGEST_SIZE));
    for coded in [
        format!("3;{long}\r\n"),
        format!("0\r\nA: {long}\r\n"),
        format!("0\r\n{long}"),
        format!("1;{}\r\na\r\n", "x".repeat(200)).repeat(100),
        format!("{zeros}\r\n"),
        format!("1{}\r\n", " ".repeat(zeros.len())),
    ] {
        assert!(decoded(coded.as_bytes(), &[]).is_err());
    }
    let padded = "00000001  \r\na\r\n".repeat(10_000) + "0\r\n\r\n";
    let (content, _, done) = decoded(padded.as_bytes(), &[]).unwrap();
    assert_eq!(
        (content.len(), done),
        (10_000, true),
        "padding is no extension"
    );
}

#[test]
fn what_comes_before_the_fault_is_there() {
    let mut data = BytesMut::new();
    let wrong = Decoder::default().decode(b"3\r\nabc\r\nx", &mut data);
    assert!(wrong.is_err());
    assert_eq!(data, "abc");
}

/// Makes a body in chunks of these lengths, with and without extensions.
fn encoded(content: &[u8], lengths: &[usize], extension: &str, trailer: &str) -> Vec<u8> {
    let (mut coded, mut rest) = (Vec::new(), content);
    let mut lengths = lengths.iter().cycle();
    while !rest.is_empty() {
        let length = lengths
            .next()
            .map_or(1, |length| (*length).clamp(1, rest.len()));
        coded.extend(format!("{length:x}{extension}\r\n").into_bytes());
        coded.extend(&rest[..length]);
        coded.extend(b"\r\n");
        rest = &rest[length..];
    }
    coded.extend(format!("0{extension}\r\n{trailer}\r\n").into_bytes());
    coded
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded_wherever_it_is_cut(
        content in proptest::collection::vec(any::<u8>(), 0..300),
        lengths in proptest::collection::vec(1..50_usize, 0..5),
        extension in "(;[a-z]{1,5}(=[a-z]{1,5})?){0,2}",
        trailer in "([A-Z]{1,5}: [ -~]{0,9}\r\n){0,2}",
        behind in proptest::collection::vec(any::<u8>(), 0..20),
        mut cuts in proptest::collection::vec(0..900_usize, 0..9),
    ) {
        cuts.sort_unstable();
        let mut coded = encoded(&content, &lengths, &extension, &trailer);
        let length = coded.len();
        coded.extend(behind);
        prop_assert_eq!(decoded(&coded, &cuts), Ok((content, length, true)));
    }

    #[test]
    fn anything_is_read_alike_in_pieces(
        coded in proptest::collection::vec(prop_oneof![any::<u8>(), proptest::sample::select(&b"\r\n;0123af: "[..])], 0..60),
        cut in 0..60_usize,
    ) {
        prop_assert_eq!(decoded(&coded, &[cut]), decoded(&coded, &[]));
    }
}
