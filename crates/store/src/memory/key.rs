//! A cache key as it is stored in the table.

use std::{
    borrow::Borrow,
    hash::{Hash, Hasher},
    ops::Deref,
};

/// Keys up to this length, in bytes, are in the table itself. So a comparison reads no other place in memory, which is
/// never near among a million keys.
const SHORT: usize = 54;

/// The bytes of a cache key.
#[derive(Clone, Debug)]
pub(crate) enum Key {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<[u8]>),
}

impl Key {
    /// The bytes of memory that a key of `length` takes outside the table; `None` if it is inside.
    pub(crate) fn apart(length: usize) -> Option<usize> {
        (length > SHORT).then_some(length)
    }
}

impl From<&[u8]> for Key {
    fn from(key: &[u8]) -> Self {
        let mut bytes = [0; SHORT];
        match (bytes.get_mut(..key.len()), u8::try_from(key.len())) {
            (Some(place), Ok(length)) => {
                place.copy_from_slice(key);
                Self::Short { length, bytes }
            }
            _ => Self::Long(key.into()),
        }
    }
}

impl Deref for Key {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Short { length, bytes } => bytes.get(..usize::from(*length)).unwrap_or(bytes),
            Self::Long(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for Key {
    #[inline]
    fn borrow(&self) -> &[u8] {
        self
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Key {}

/// Like its bytes, by which it is looked up.
impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    #[test]
    fn it_takes_little_room_in_the_table() {
        assert_eq!(size_of::<Key>(), SHORT + 2);
    }

    proptest! {
        /// Keys of any length, among them the empty one and those at the limit.
        #[test]
        fn it_is_its_bytes(one in proptest::collection::vec(any::<u8>(), 0..2 * SHORT), other: Vec<u8>) {
            let key = Key::from(&*one);
            prop_assert_eq!(&*key, &*one);
            let hasher = BuildHasherDefault::<DefaultHasher>::default();
            prop_assert_eq!(hasher.hash_one(&key), hasher.hash_one(&*one));
            prop_assert_eq!(key == Key::from(&*other), one == other);
            prop_assert_eq!(Key::apart(one.len()), matches!(key, Key::Long(_)).then_some(one.len()));
        }
    }
}
