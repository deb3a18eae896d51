//! SampleList of all kinds become batches.

use std::collections::{BTreeMap, HashMap};

use parallel::{Collate, PinMemory, Split, ToDevice};
use tensor::{Blocking, DType, Device, Result, Tensor, tensor};

use crate::four_devices;

fn numbers(batch: &Tensor) -> Vec<i64> {
    batch.to_vec().expect("integers")
}

#[test]
fn integers_and_arrays_become_tensors() -> Result<()> {
    assert_eq!(numbers(&usize::collate(vec![1, 2])?), [1, 2]);
    assert_eq!(numbers(&u32::collate(vec![1, u32::MAX])?), [1, i64::from(u32::MAX)]);
    assert_eq!(numbers(&i32::collate(vec![-1, 2])?), [-1, 2]);
    assert_eq!(i16::collate(vec![1])?.dtype(), DType::I16);
    let error = u64::collate(vec![u64::MAX]).expect_err("no element is so large").to_string();
    assert!(error.contains("18446744073709551615"), "{error}");

    let batch = <[[f32; 2]; 2]>::collate(vec![[[1.0, 2.0], [3.0, 4.0]]; 3])?;
    assert_eq!((batch.shape(), batch.dtype()), (&[3, 2, 2][..], DType::F32));
    let batch = <[i32; 2]>::collate(vec![[1, 2], [3, 4]])?;
    assert_eq!((batch.shape(), numbers(&batch)), (&[2, 2][..], vec![1, 2, 3, 4]));
    Ok(())
}

#[test]
fn lists_are_joined_place_by_place_and_must_be_equally_long() -> Result<()> {
    let batch = Vec::<i64>::collate(vec![vec![1, 2], vec![3, 4], vec![5, 6]])?;
    assert_eq!(batch.iter().map(numbers).collect::<Vec<_>>(), [[1, 3, 5], [2, 4, 6]]);
    let error = Vec::<i64>::collate(vec![vec![1, 2], vec![3]]).expect_err("of two lengths");
    assert!(error.to_string().contains("lists of 2 and of 1"), "{error}");
    Ok(())
}

#[test]
fn options_are_there_in_all_samples_or_in_none() -> Result<()> {
    let present = Option::collate(vec![Some(1i64), Some(2)])?;
    assert_eq!(present.as_ref().map(numbers), Some(vec![1, 2]));
    assert!(Option::<i64>::collate(vec![None, None])?.is_none());
    for mixed in [vec![None, Some(1i64)], vec![Some(1i64), None]] {
        assert!(Option::collate(mixed).is_err());
    }
    Ok(())
}

#[test]
fn maps_are_joined_key_by_key_and_name_a_key_that_is_missing() -> Result<()> {
    let of = |keys: &[&'static str]| -> HashMap<&'static str, i64> {
        keys.iter().map(|&key| (key, key.len() as i64)).collect()
    };
    let batch = HashMap::collate(vec![of(&["a", "bb"]), of(&["bb", "a"])])?;
    assert_eq!((numbers(&batch["a"]), numbers(&batch["bb"])), (vec![1, 1], vec![2, 2]));
    for (first, second) in [(&["a", "bb"][..], &["a"][..]), (&["a"], &["a", "bb"])] {
        let ordered = |keys| of(keys).into_iter().collect::<BTreeMap<_, _>>();
        for error in [
            HashMap::collate(vec![of(first), of(second)]).map(drop),
            BTreeMap::collate(vec![ordered(first), ordered(second)]).map(drop),
        ] {
            let error = error.expect_err("a key is missing").to_string();
            assert!(error.contains("\"bb\""), "{error}");
        }
    }
    Ok(())
}

#[test]
fn a_slot_that_was_left_in_the_middle_of_a_batch_begins_anew() -> Result<()> {
    type Sample = (Vec<i64>, Option<i64>, BTreeMap<u8, i64>, String);
    let sample = |n: i64| (vec![n], Some(n), BTreeMap::from([(7, n)]), n.to_string());
    let mut slot = Sample::slot(false);
    Sample::begin(&mut slot, 3);
    sample(1).put(&mut slot)?;
    let other: Sample = (vec![1, 2], None, BTreeMap::from([(8, 1)]), String::new());
    assert!(other.clone().put(&mut slot).is_err());
    for _ in 0..2 {
        Sample::begin(&mut slot, 2);
        sample(4).put(&mut slot)?;
        sample(5).put(&mut slot)?;
        let (list, option, map, texts) = Sample::finish(&mut slot)?;
        assert_eq!(
            (numbers(&list[0]), option.as_ref().map(numbers)),
            (vec![4, 5], Some(vec![4, 5]))
        );
        assert_eq!(
            (map.len(), numbers(&map[&7]), texts),
            (1, vec![4, 5], vec!["4".into(), "5".into()])
        );
        Sample::begin(&mut slot, 1);
        other.clone().put(&mut slot)?;
        let (list, option, map, _) = Sample::finish(&mut slot)?;
        assert_eq!((list.len(), option.is_none(), numbers(&map[&8])), (2, true, vec![1]));
    }
    Ok(())
}

#[derive(Collate)]
struct Image<T> {
    pixels: T,
    label: usize,
    name: String,
}

#[derive(Collate)]
#[collate(batch = Pairs)]
struct Pair(Image<Tensor>, Option<f32>);

#[test]
fn a_derived_sample_has_a_batch_of_its_fields_which_can_be_pinned_and_moved() -> Result<()> {
    four_devices();
    let image = |n: usize| -> Result<Image<Tensor>> {
        Ok(Image { pixels: tensor![n as f64, 1.0]?, label: n, name: format!("#{n}") })
    };
    let batch: Pairs = Pair::collate(vec![Pair(image(1)?, Some(0.5)), Pair(image(2)?, Some(1.5))])?;
    let batch = batch.into_pinned()?;
    assert!(batch.0.pixels.is_pinned() && batch.1.as_ref().is_some_and(Tensor::is_pinned));
    assert_eq!(batch.samples(), Some(2));
    let parts = batch.split(&[1, 1])?;
    assert_eq!(parts[1].0.label.to_vec::<i64>()?, [2]);
    let batch = Pair::collate(vec![Pair(image(1)?, Some(0.5)), Pair(image(2)?, Some(1.5))])?;
    let Pairs(images, halves) = batch.into_device(Device::cuda_at(1), Blocking::No)?;
    let ImageBatch { pixels, label, name } = images;
    assert_eq!(pixels.device(), Device::cuda_at(1));
    assert_eq!(pixels.to_vec::<f32>()?, [1.0, 1.0, 2.0, 1.0]);
    assert_eq!((label.to_vec::<i64>()?, name), (vec![1, 2], vec!["#1".into(), "#2".into()]));
    assert_eq!(halves.expect("all have one").to_vec::<f32>()?, [0.5, 1.5]);
    Ok(())
}

#[test]
fn a_derived_sample_may_be_generic() -> Result<()> {
    let image = |n: u8| Image { pixels: [n; 3], label: 0, name: String::new() };
    let batch = Image::collate(vec![image(1), image(2)])?;
    assert_eq!(batch.pixels.to_vec::<u8>()?, [1, 1, 1, 2, 2, 2]);
    Ok(())
}
