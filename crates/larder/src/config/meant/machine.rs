//! Whether this machine has the memory that the store may take. If not, the system ends the process once the store is
//! full, which may be days after the start.

use super::Sink;
use crate::config::{Fault, Flags, written};
use bytesize::ByteSize;
use rustix::system::sysinfo;
use std::{fs, path::Path};

/// Bytes that the process takes besides, in ordinary use.
const BESIDES: u64 = 64 << 20;

/// Where control groups are (cgroups(7), version 2).
const GROUPS: &str = "/sys/fs/cgroup";

/// Warns if the store may take `bytes`, and the machine or the control group of this process has less.
pub(super) fn check(
    bytes: u64,
    written: Option<&written::Memory>,
    flags: &Flags,
    sink: &mut Sink<'_>,
) {
    let system = sysinfo();
    let machine = (system.totalram as u64).saturating_mul(system.mem_unit.into());
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = limit(&groups, Path::new(GROUPS)).filter(|limit| *limit < machine);
    let has = group.unwrap_or(machine);
    if bytes.saturating_add(BESIDES) <= has {
        return;
    }
    let holder = match group {
        Some(_) => "the control group of this process",
        None => "this machine",
    };
    let [wanted, there] = [bytes, has].map(|size| ByteSize(size).display().iec());
    let what = format!(
        "the store may take {wanted}, and {holder} has {there} of memory: the system would end Larder when the store is full"
    );
    let half = format!("{}MiB", (has / 2) >> 20);
    let text = written.and_then(|memory| memory.size.as_ref());
    let warning = match (flags.memory, text) {
        (None, Some(text)) => {
            Fault::at(&text.span, what).instead(format!("write `size = \"{half}\"`"))
        }
        (None, None) => {
            Fault::anywhere(what).instead(format!("add `memory.size = \"{half}\"` at the top"))
        }
        (Some(_), _) => Fault::anywhere(what).instead(format!("write --memory {half}")),
    };
    sink.warn(warning.of_machine());
}

/// Returns the least limit of the control group that `groups` names, and of those that it is in. `groups` is what the
/// system says of a process (`/proc/self/cgroup`), and `root` is where groups are.
fn limit(groups: &str, root: &Path) -> Option<u64> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let folder = root.join(own);
    let folders = folder.ancestors().take_while(|one| one.starts_with(root));
    // A group without a limit says `max`.
    let limits = folders.filter_map(|one| {
        let said = fs::read_to_string(one.join("memory.max")).ok()?;
        said.trim().parse().ok()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_a_group_and_of_those_around_it() {
        let root = testkit::scratch_dir();
        let within = root.join("system.slice/larder.service");
        fs::create_dir_all(&within).unwrap();
        let limit = || limit("1:cpu:/x\n0::/system.slice/larder.service\n", &root);
        assert_eq!(limit(), None);
        for (folder, text, told) in [
            (&within, "max\n", None),
            (&root, "9000\n", Some(9000)),
            (&within, "5000\n", Some(5000)),
            (&root.join("system.slice"), "1000\n", Some(1000)),
        ] {
            fs::write(folder.join("memory.max"), text).unwrap();
            assert_eq!(limit(), told, "{text}");
        }
        assert_eq!(super::limit("0::/elsewhere\n", &root), Some(9000));
        assert_eq!(super::limit("", &root), None);
    }
}
