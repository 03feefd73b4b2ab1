use super::*;
use origin::Kind;
use rules::storable::NotStorable;

#[test]
fn every_reason_comes_back() {
    let table = HitForMiss::default();
    let now = Time::from_secs(1_000_000);
    for why in Unshared::ALL {
        table.forget(b"k", Credentials::None);
        table.remember(b"k", Credentials::None, why, now);
        assert_eq!(table.why(b"k"), Some(why));
        assert_eq!(
            table.knows(b"k", Credentials::None, now),
            why.keeps_apart().is_some(),
            "{why:?}"
        );
    }
    assert_eq!(table.why(b"other"), None);
}

/// A new kind must be added to the list, and counted here.
#[test]
fn no_failure_is_forgotten() {
    const fn is_listed(kind: Kind) -> bool {
        match kind {
            Kind::Unresolvable
            | Kind::Refused
            | Kind::NoSocket
            | Kind::Declined
            | Kind::ConnectTimeout
            | Kind::Tls
            | Kind::NoUpgrade
            | Kind::Protocol
            | Kind::StreamRefused
            | Kind::FirstByteTimeout
            | Kind::BetweenBytesTimeout
            | Kind::WholeTimeout
            | Kind::Truncated
            | Kind::Malformed
            | Kind::UnaskedSwitch
            | Kind::HeadTooLarge
            | Kind::QueueFull
            | Kind::QueueTimeout
            | Kind::NoHealthyServer
            | Kind::Script
            | Kind::RequestBody
            | Kind::Spool
            | Kind::Unreadable
            | Kind::Outside
            | Kind::Configuration => true,
        }
    }
    let mut kinds: Vec<Kind> = Vec::new();
    for why in Unshared::ALL {
        if let Unshared::Unanswered(kind) = why {
            assert!(is_listed(kind) && !kinds.contains(&kind), "{kind:?}");
            kinds.push(kind);
        }
    }
    assert_eq!(kinds.len(), 25);
}

/// The same for the reasons for not storing.
#[test]
fn no_reason_is_forgotten() {
    const fn is_listed(why: NotStorable) -> bool {
        match why {
            NotStorable::Method
            | NotStorable::Status
            | NotStorable::NoStoreRequest
            | NotStorable::NoStore
            | NotStorable::Private
            | NotStorable::Authorization
            | NotStorable::MustUnderstand
            | NotStorable::SetCookie
            | NotStorable::Cookies
            | NotStorable::VaryStar
            | NotStorable::TooManyTags
            | NotStorable::Connection
            | NotStorable::NoFreshness
            | NotStorable::EventStream => true,
        }
    }
    let mut reasons: Vec<NotStorable> = Vec::new();
    for why in Unshared::ALL {
        if let Unshared::NotStored(why) = why {
            assert!(is_listed(why) && !reasons.contains(&why), "{why:?}");
            reasons.push(why);
        }
    }
    assert_eq!(reasons.len(), 14);
}

#[test]
fn what_says_nothing_of_others_does_not_hide_what_does() {
    let table = HitForMiss::default();
    let now = Time::from_secs(1_000_000);
    let private = Unshared::NotStored(NotStorable::Private);
    let authorized = Unshared::NotStored(NotStorable::Authorization);
    table.remember(b"k", Credentials::None, private, now);
    table.remember(b"k", Credentials::None, authorized, now);
    assert_eq!(table.why(b"k"), Some(private));
    assert!(table.knows(b"k", Credentials::None, now));
    let later = Time::from_secs(1_000_000 + SECONDS);
    assert_eq!(table.why(b"k"), Some(private), "however long ago");
    table.remember(b"k", Credentials::None, authorized, later);
    assert_eq!(table.why(b"k"), Some(authorized));
    assert!(!table.knows(b"k", Credentials::None, later));
}

#[test]
fn what_one_gets_for_his_cookies_keeps_nobody_apart_who_has_none() {
    let now = Time::from_secs(1_000_000);
    for (why, others_too) in [
        (Unshared::NotStored(NotStorable::Private), false),
        (Unshared::Validated, false),
        (Unshared::TooLarge, true),
    ] {
        let table = HitForMiss::default();
        table.remember(b"k", Credentials::Cookies, why, now);
        assert!(table.knows(b"k", Credentials::Cookies, now), "{why:?}");
        assert_eq!(
            table.knows(b"k", Credentials::None, now),
            others_too,
            "{why:?}"
        );
        assert_eq!(table.why(b"k"), Some(why));
        table.forget(b"k", Credentials::None);
        assert_eq!(
            table.knows(b"k", Credentials::Cookies, now),
            !others_too,
            "{why:?}"
        );
        table.forget(b"k", Credentials::Cookies);
        assert!(!table.knows(b"k", Credentials::Cookies, now), "{why:?}");
        table.remember(b"k", Credentials::None, why, now);
        assert!(table.knows(b"k", Credentials::Cookies, now), "{why:?}");
    }
}
