//! `CUDA_VISIBLE_DEVICES`: which devices the program sees, and in which order.

use super::properties::DeviceId;

/// The physical numbers of the devices that `list` makes visible, of `count` that there are.
///
/// Entries are numbers, or the beginnings of UUIDs. The list ends at the first entry that names no
/// device, or more than one; naming a device twice makes none visible, as with NVIDIA's driver.
pub(crate) fn visible_devices(list: Option<&str>, count: u32) -> Vec<u32> {
    let Some(list) = list else { return (0..count).collect() };
    let mut visible = Vec::new();
    for physical in list.split(',').map_while(|entry| device(entry.trim(), count)) {
        if visible.contains(&physical) {
            return Vec::new();
        }
        visible.push(physical);
    }
    visible
}

fn device(entry: &str, count: u32) -> Option<u32> {
    if !entry.starts_with("GPU-") {
        return entry.parse().ok().filter(|&physical| physical < count);
    }
    let entry = entry.to_ascii_lowercase();
    let named = |&physical: &u32| {
        let uuid = DeviceId { ordinal: 0, physical }.uuid_text().to_ascii_lowercase();
        uuid.starts_with(&entry)
    };
    let mut candidates = (0..count).filter(named);
    let physical = candidates.next()?;
    candidates.next().is_none().then_some(physical)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uuid(physical: u32) -> String {
        DeviceId { ordinal: 0, physical }.uuid_text()
    }

    #[test]
    fn without_a_list_all_devices_are_visible_and_with_an_empty_one_none() {
        assert_eq!(visible_devices(None, 3), [0, 1, 2]);
        assert_eq!(visible_devices(Some(""), 3), []);
    }

    #[test]
    fn numbers_select_and_reorder() {
        assert_eq!(visible_devices(Some("2,0"), 3), [2, 0]);
        assert_eq!(visible_devices(Some(" 1 , 2 "), 3), [1, 2]);
    }

    #[test]
    fn the_list_ends_at_the_first_entry_that_names_no_device() {
        for list in ["1,-1,0", "1,3,0", "1,x,0", "1,,0", "1,GPU-zz,0", "1,MIG-0,0", "1,GPU-,0"] {
            assert_eq!(visible_devices(Some(list), 3), [1], "{list}");
        }
    }

    #[test]
    fn a_device_named_twice_makes_none_visible() {
        assert_eq!(visible_devices(Some("0,1,0"), 3), []);
        assert_eq!(visible_devices(Some(&format!("1,{}", uuid(1))), 3), []);
    }

    #[test]
    fn uuids_may_be_cut_short_as_long_as_they_name_one_device() {
        let list = format!("{},{}", uuid(2), &uuid(0)[..10]);
        assert_eq!(visible_devices(Some(&list), 3), [2, 0]);
        assert_eq!(visible_devices(Some(&uuid(1).to_uppercase()), 3), [1]);
    }
}
