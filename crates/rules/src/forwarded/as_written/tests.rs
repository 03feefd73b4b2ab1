use super::*;
use proptest::prelude::*;

#[test]
fn addresses_are_no_part_of_what_is_keyed() {
    for (line, expected) in [
        ("", ""),
        ("for=192.0.2.7;proto=https", "for=unknown;proto=https"),
        (
            "For=\"[2001:db8::1]:80\" ; by=_a",
            "For=unknown; by=unknown",
        ),
        ("for=unknown, ,for=_x;", "for=unknown, ,for=unknown;"),
        // Written as it must not be.
        ("proto=https;for=2001:db8::1", "proto=https;for=::"),
        ("for=192.0.2.7:80,by=[::1]", "for=0.0.0.0:0,by=[::]"),
        ("for=\"2001:db8::1\"", "for=\"::\""),
        ("for=[2001:db8::1]:80", "for=[::]:0"),
        // No address.
        ("for=,by=\"\"", "for=,by=\"\""),
        (
            "for=x, for=1.2.3.4.5, for=\"[[\"",
            "for=x, for=1.2.3.4.5, for=\"[[\"",
        ),
        // Nor is this one, nor that.
        ("for=_, for=:", "for=_, for=:"),
        // Quotes that are not around a value.
        ("host=\"a;for=192.0.2.7;b\"", "host=\"a;for=192.0.2.7;b\""),
        ("x=\"p,for=192.0.2.7,q\"", "x=\"p,for=192.0.2.7,q\""),
        ("for=192.0.2.7;x=\"a\\\"", "for=192.0.2.7;x=\"a\\\""),
        // Whatever may be more than an address, or is none.
        ("for=\"x=y\"", "for=\"x=y\""),
        ("for=\"a", "for=\"a"),
        ("for=\"a\\b\"", "for=\"a\\b\""),
        ("for=\"x;host=evil.test\"", "for=\"x;host=evil.test\""),
        ("for", "for"),
        ("x=192.0.2.7;host=a ;proto=é", "x=192.0.2.7;host=a ;proto=é"),
    ] {
        let found = without_nodes(line.as_bytes());
        assert_eq!(String::from_utf8_lossy(&found), expected, "{line}");
    }
}

proptest! {
    /// What stands for an address says the same as what it stands for.
    #[test]
    fn what_is_keyed_would_be_keyed_alike(line in "((for|By|host|x)?=?(\"|\\\\|;|,| |_a|unknown|1\\.2\\.3\\.4|::1|\\[::1\\]|:80|é)?){0,8}") {
        let keyed = without_nodes(line.as_bytes());
        prop_assert_eq!(without_nodes(&keyed), keyed);
    }

    #[test]
    fn clients_with_addresses_of_a_kind_are_not_told_apart(one: [u8; 4], other: [u8; 4], port: u16) {
        let said = |address: [u8; 4]| {
            let address = std::net::Ipv4Addr::from(address);
            let line = format!("for={address};proto=https, for=\"{address}:{port}\", for={address}:{port}");
            without_nodes(line.as_bytes())
        };
        prop_assert_eq!(said(one), said(other));
    }
}
