//! Decides which of a name's addresses are servers.
//!
//! Each address is a server, but an IPv6 and an IPv4 address count as one: `localhost` is `::1` and `127.0.0.1`, and an
//! application listens on either or both. The family with more addresses provides the servers. Each server has a spare
//! address of the other family, for when it cannot be connected to.

use std::net::SocketAddr;

/// Most addresses of one name that are used. All of them are looked through for each fetch.
pub(crate) const MOST: usize = 64;

/// A server's address, and the other way to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) own: SocketAddr,
    /// An address of the other family.
    pub(crate) spare: Option<SocketAddr>,
}

impl Pair {
    pub(crate) fn alone(own: SocketAddr) -> Self {
        Self { own, spare: None }
    }
}

/// Returns the servers among the addresses that a resolver found, in an order independent of the resolver's.
///
/// If both families have the same number, the family that leads in `known`, which was found before, leads again. For a
/// new name it is the family that the resolver puts first (RFC 6724). Pairs stay as they were if both addresses are
/// still there.
pub(crate) fn pair(mut found: Vec<SocketAddr>, known: &[Pair]) -> Vec<Pair> {
    let leader = known
        .first()
        .map(|pair| pair.own)
        .or(found.first().copied());
    found.sort_unstable();
    found.dedup();
    let (sixes, fours): (Vec<_>, Vec<_>) = found.into_iter().partition(SocketAddr::is_ipv6);
    let by_count = sixes.len().cmp(&fours.len());
    let six_leads = by_count.is_gt() || by_count.is_eq() && leader.is_some_and(|one| one.is_ipv6());
    let (own, spare) = if six_leads {
        (sixes, fours)
    } else {
        (fours, sixes)
    };
    let pairs = own.into_iter().enumerate().map(|(index, own)| {
        let before = known.iter().find(|pair| pair.own == own);
        let kept = before.and_then(|pair| pair.spare);
        Pair {
            own,
            spare: kept
                .filter(|address| spare.contains(address))
                .or_else(|| spare.get(index % spare.len().max(1)).copied()),
        }
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn four(last: u8) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, last], 80))
    }

    fn six(last: u16) -> SocketAddr {
        SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, last], 80))
    }

    fn told(pairs: &[Pair]) -> Vec<(SocketAddr, Option<SocketAddr>)> {
        pairs.iter().map(|pair| (pair.own, pair.spare)).collect()
    }

    #[test]
    fn each_address_of_a_family_is_a_server_in_whatever_order_they_come() {
        for found in [
            vec![four(1), four(2), four(3)],
            vec![four(3), four(1), four(2), four(1)],
        ] {
            let servers = [1, 2, 3].map(|last| (four(last), None));
            assert_eq!(told(&pair(found, &[])), servers);
        }
    }

    #[test]
    fn one_machine_with_two_families_is_one_server() {
        let resolved = pair(vec![six(1), four(1)], &[]);
        assert_eq!(told(&resolved), [(six(1), Some(four(1)))]);
        assert_eq!(pair(vec![four(1), six(1)], &resolved), resolved);
        let other = pair(vec![four(1), six(1)], &[]);
        assert_eq!(told(&other), [(four(1), Some(six(1)))]);
    }

    #[test]
    fn the_larger_family_leads_and_what_stays_keeps_its_pair() {
        let before = pair(vec![six(9), four(1), four(2), four(3), six(8)], &[]);
        let spares = [Some(six(8)), Some(six(9)), Some(six(8))];
        let servers = [four(1), four(2), four(3)];
        let all: Vec<_> = servers.into_iter().zip(spares).collect();
        assert_eq!(told(&before), all);
        let after = pair(vec![four(2), four(3), six(9), six(7)], &before);
        assert_eq!(
            told(&after),
            [(four(2), Some(six(9))), (four(3), Some(six(9)))]
        );
    }
}
