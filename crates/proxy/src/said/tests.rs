use super::*;
use crate::sample::fields;

/// A field is not searched for if this says that it is absent: so no present field may be missed.
#[test]
fn what_a_request_speaks_of_is_seen_by_its_names() {
    for (name, speaks) in [
        ("connection", [true, false, false, false, false]),
        ("cache-control", [false, true, false, false, false]),
        ("pragma", [false, true, false, false, false]),
        ("if-match", [false, false, true, false, false]),
        ("if-none-match", [false, false, true, false, false]),
        ("if-modified-since", [false, false, true, false, false]),
        ("if-unmodified-since", [false, false, true, false, false]),
        ("if-range", [false, false, true, false, false]),
        ("range", [false, false, true, false, false]),
        ("accept-encoding", [false, false, false, true, false]),
        ("x-refresh", [false, false, false, false, true]),
        ("accept", [false; 5]),
        ("x-range", [false; 5]),
    ] {
        let said = FieldPresence::by(&fields(&[("host", "a"), (name, "x"), ("via", "y")]));
        let seen = [
            said.connection,
            said.directives,
            said.conditions,
            said.codings,
            said.refresh,
        ];
        assert_eq!(seen, speaks, "{name}");
    }
}

/// What is overlooked here is passed on without being keyed.
#[test]
fn what_proxies_tell_is_seen_by_its_names() {
    for (name, (of_proxies, told)) in [
        ("x-forwarded-host", (true, true)),
        ("forwarded", (true, true)),
        ("front-end-https", (true, true)),
        ("surrogate-capability", (true, true)),
        ("x-real-ip", (true, false)),
        ("cf-connecting-ip", (true, false)),
        ("x-forwarded-for", (false, false)),
        ("x-requested-with", (false, false)),
    ] {
        let said = FieldPresence::by(&fields(&[("host", "a"), (name, "x"), ("via", "y")]));
        assert_eq!((said.of_proxies, said.told), (of_proxies, told), "{name}");
    }
}
