use super::*;
use crate::variable::tests::TestRequest;
use proptest::prelude::*;

#[test]
fn expressions_hold_as_written() {
    let request = TestRequest {
        query: Some("n=10&empty=&name=Ann%20B"),
        fields: &[("cookie", "group=Advanced; admin=false; n=9")],
    };
    let table = [
        ("$(HTTP_COOKIE{group})=='Advanced'", true),
        ("$(HTTP_COOKIE{group}) == \"Advanced\"", true),
        ("$(HTTP_COOKIE{group})=='advanced'", false),
        ("$(HTTP_COOKIE{group})!='Basic'", true),
        ("$(HTTP_COOKIE{group})", true),
        ("$(HTTP_COOKIE{none})", false),
        ("!$(HTTP_COOKIE{none})", true),
        ("$(HTTP_COOKIE{admin})", false),
        // An absent value compares with nothing.
        ("$(HTTP_COOKIE{none})==''", false),
        ("$(HTTP_COOKIE{none})!='Basic'", false),
        ("$(HTTP_COOKIE{none}) < 18", false),
        ("$(HTTP_COOKIE{none}|99) < 18", false),
        ("$(HTTP_COOKIE{group}) has ''", false),
        ("$(HTTP_COOKIE{none}|'Advanced')=='Advanced'", true),
        // Numbers are compared as numbers, anything else as text.
        ("$(QUERY_STRING{n}) > 9", true),
        ("$(QUERY_STRING{n}) > '9'", true),
        ("$(QUERY_STRING{n})>=10 & $(QUERY_STRING{n})<=10.0", true),
        ("$(QUERY_STRING{n}) > $(HTTP_COOKIE{n})", true),
        ("'10a' > '9'", false),
        ("-1 < 0", true),
        ("-0 == 0", true),
        ("$(QUERY_STRING{name}) == 'Ann B'", true),
        ("$(QUERY_STRING{name}) has 'nn'", true),
        ("$(QUERY_STRING{name}) has 'NN'", false),
        ("$(QUERY_STRING{name}) has_i 'NN'", true),
        // `!` binds looser than a comparison, `&` tighter than `|`.
        ("!$(HTTP_COOKIE{group})=='Basic'", true),
        ("1==1 | 1==2 & 1==2", true),
        ("(1==1 | 1==2) & 1==2", false),
        ("1==1 || 1==2 && 1==2", true),
        ("!(1==2) & !(2==1)", true),
        ("!!1", true),
        ("true", true),
        ("false", false),
        ("'''it's'''=='x' | 1", true),
        // An expression that cannot be parsed never holds.
        ("", false),
        ("!", false),
        ("1==", false),
        ("==1", false),
        ("(1==1", false),
        ("1==1)", false),
        ("1 1", false),
        ("'open", false),
        ("1==1 &", false),
        ("$(unknown)", false),
        ("!$(UNKNOWN)", true),
    ];
    for (text, expected) in table {
        assert_eq!(Expression::read(text).holds(&request), expected, "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [("(", ")"), ("!", ""), ("!(", ")")] {
        let deep = |times: usize| format!("{}1{}", open.repeat(times), close.repeat(times));
        let request = TestRequest::default();
        assert!(!Expression::read(&deep(100_000)).holds(&request), "{open}");
        assert!(Expression::read(&deep(4)).holds(&request), "{open}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read(text in "[$(){}|&!=<>'\"A-Z_ a-z0-9.-]{0,60}") {
        let request = TestRequest::default();
        let _ = Expression::read(&text).holds(&request);
    }
}
