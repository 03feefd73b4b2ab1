//! Which coding answers a request.

use super::*;

fn chosen(line: &str, stored: &[Coding]) -> Choice {
    let accepted = Accepted::read(&request(&[line]));
    choose(accepted, &Coding::ALL, |coding| stored.contains(&coding))
}

/// RFC 9110 section 12.5.3.
#[test]
fn the_weight_decides_then_our_order() {
    use Choice::Identity;
    let coded = Choice::Coding;
    let (br, zstd, gzip) = (Coding::Brotli, Coding::Zstd, Coding::Gzip);
    for (line, expected) in [
        ("gzip, deflate, br, zstd", coded(br)),
        ("gzip, zstd", coded(zstd)),
        ("gzip", coded(gzip)),
        ("X-GZIP", coded(gzip)),
        ("GZip", coded(gzip)),
        ("gzip;q=1, br;q=0.9", coded(gzip)),
        ("gzip;q=0.001", coded(gzip)),
        ("br;q=0, gzip;q=0.5", coded(gzip)),
        ("deflate", Identity),
        ("identity", Identity),
        ("", Identity),
        // "If the representation has no content coding, then it is acceptable by default unless specifically excluded"
        ("gzip;q=0.5, identity", Identity),
        ("gzip;q=0.5, identity;q=0.5", coded(gzip)),
        ("identity;q=0.5, gzip;q=0.4", Identity),
        ("gzip;q=0", Identity),
        // "The asterisk "*" symbol in an Accept-Encoding field matches any available content coding not explicitly listed"
        ("*", coded(br)),
        ("*;q=0", Identity),
        ("gzip, *;q=0", coded(gzip)),
        ("br;q=0, *", coded(zstd)),
        ("gzip, *;q=0.5", coded(gzip)),
        // We have none of these: no coding rather than an error.
        ("identity;q=0, deflate", Identity),
        // Malformed: nothing is known, except that every client understands identity.
        ("gzip;q=2", Identity),
        ("gzip;q=", Identity),
        ("gzip br", Identity),
        ("gzip, \"br", Identity),
        // The first of two members for one coding counts.
        ("gzip;q=0, gzip", Identity),
    ] {
        assert_eq!(chosen(line, &[]), expected, "{line}");
    }
    assert_eq!(Accepted::read(&HeaderMap::new()), Accepted::NONE);
    let lines = Accepted::read(&request(&["gzip;q=0.5", "br"]));
    assert_eq!(
        lines,
        Accepted::read(&request(&["gzip;q=0.5, br"])),
        "several lines are one list"
    );
    let of_first = Accepted::read(&request(&["gzip", "br"]));
    assert!(
        of_first.takes(Some(Coding::Brotli)),
        "also after a common first line"
    );
}

#[test]
fn among_equals_what_is_stored_answers_and_the_better_one_is_named() {
    let all = "gzip, deflate, br, zstd";
    assert_eq!(
        chosen(all, &[Coding::Gzip]),
        Choice::Instead {
            stored: Coding::Gzip,
            better: Coding::Brotli
        }
    );
    assert_eq!(
        chosen(all, &[Coding::Gzip, Coding::Brotli]),
        Choice::Coding(Coding::Brotli)
    );
    assert_eq!(
        chosen("br, gzip;q=0.9", &[Coding::Gzip]),
        Choice::Coding(Coding::Brotli),
        "weight goes before what is stored"
    );
}

#[test]
fn identity_is_unacceptable_only_where_it_is_said() {
    for (line, takes) in [
        ("gzip", true),
        ("identity;q=0", false),
        ("*;q=0", false),
        ("*;q=0, identity", true),
        ("gzip, identity;q=0.1", true),
    ] {
        let accepted = Accepted::read(&request(&[line]));
        assert_eq!(accepted.takes(None), takes, "{line}");
    }
}

#[test]
fn whether_a_client_takes_any_coding() {
    for (line, takes) in [
        ("br", true),
        ("gzip;q=0.001", true),
        ("*", true),
        ("deflate", false),
        ("gzip;q=0", false),
        ("", false),
    ] {
        let accepted = Accepted::read(&request(&[line]));
        assert_eq!(accepted.takes_any(), takes, "{line}");
    }
}

proptest! {
    /// Whatever is sent, nothing unacceptable is chosen, and it does not matter how the list is split into lines.
    #[test]
    fn what_is_chosen_is_acceptable(line in "[ -~]{0,60}", weights in prop::collection::vec((0usize..6, 0u16..=1000), 0..6)) {
        let names = ["br", "zstd", "gzip", "identity", "*", "deflate"];
        let members: Vec<_> = weights
            .iter()
            .map(|(name, weight)| format!("{};q={}.{:03}", names[*name], weight / 1000, weight % 1000))
            .collect();
        let whole = Accepted::read(&request(&[&members.join(", ")]));
        if !members.is_empty() {
            let lines: Vec<_> = members.iter().map(String::as_str).collect();
            prop_assert_eq!(whole, Accepted::read(&request(&lines)));
        }
        for accepted in [whole, Accepted::read(&request(&[&line]))] {
            match choose(accepted, &Coding::ALL, |_| false) {
                Choice::Coding(coding) => prop_assert!(accepted.takes(Some(coding))),
                Choice::Identity => {}
                Choice::Instead { .. } => prop_assert!(false, "nothing is stored"),
            }
        }
    }
}
