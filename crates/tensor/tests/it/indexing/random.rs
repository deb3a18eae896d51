//! Random reads and writes against a naive reference, which goes element by element.

use proptest::prelude::*;
use tensor::{Device, Result, Tensor, TensorIndex};

/// What is drawn for a dimension; its size makes an index of it.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Integer(usize),
    Range(usize, usize, usize),
    List(u64),
    Mask(u64),
    NewAxis,
}

/// Where the elements of a result lie in the tensor, in row-major order.
#[derive(Debug, Default)]
struct Reference {
    indices: Vec<TensorIndex>,
    /// The places along the dimensions that have one, or none for a new one: an axis of the result
    /// each.
    axes: Vec<(Option<usize>, Vec<usize>)>,
    /// The place along the dimensions that have none.
    fixed: Vec<(usize, usize)>,
    /// The places along the dimensions that index tensors choose from, for the axis that these have
    /// together.
    chosen: Vec<(usize, Vec<usize>)>,
    /// The number of axes before each of those.
    before: Vec<usize>,
}

impl Reference {
    /// Index tensors have `count` elements.
    fn new(shape: &[usize], drawn: &[Drawn], count: usize) -> Result<Reference> {
        let mut made = Reference::default();
        let mut dim = 0;
        for &drawn in drawn {
            if let Drawn::NewAxis = drawn {
                made.indices.push(TensorIndex::NewAxis);
                made.axes.push((None, vec![0]));
                continue;
            }
            let Some(&size) = shape.get(dim) else { break };
            made.index(dim, size, drawn, count)?;
            dim += 1;
        }
        made.axes.extend((dim..shape.len()).map(|dim| (Some(dim), (0..shape[dim]).collect())));
        Ok(made)
    }

    fn index(&mut self, dim: usize, size: usize, drawn: Drawn, count: usize) -> Result<()> {
        match drawn {
            Drawn::Integer(at) => {
                let place = at % size;
                let from_the_end = place as isize - size as isize;
                self.indices.push(if at % 2 == 0 { place.into() } else { from_the_end.into() });
                self.fixed.push((dim, place));
            }
            Drawn::Range(begin, end, step) => {
                let [first, last] = [begin, end].map(|bound| Some(bound as isize));
                self.indices.push(TensorIndex::Slice { begin: first, end: last, step });
                let places = (begin..end.min(size)).step_by(step).collect();
                self.axes.push((Some(dim), places));
            }
            Drawn::Mask(bits) if count <= size => {
                // `count` places in a row, around the end.
                let places = (0..count).map(|at| (at + bits as usize % size) % size);
                let mut truths = vec![false; size];
                places.for_each(|place| truths[place] = true);
                self.indices.push(Tensor::new(truths.clone(), Device::Cpu)?.into());
                self.choose(dim, (0..size).filter(|&place| truths[place]).collect());
            }
            Drawn::List(bits) | Drawn::Mask(bits) => {
                let places: Vec<usize> =
                    (0..count).map(|at| (bits >> (8 * at)) as usize % size).collect();
                let signed = places.iter().map(|&place| match bits % 2 {
                    0 => place as i64,
                    _ => place as i64 - size as i64,
                });
                self.indices.push(signed.collect::<Vec<i64>>().into());
                self.choose(dim, places);
            }
            Drawn::NewAxis => {}
        }
        Ok(())
    }

    fn choose(&mut self, dim: usize, places: Vec<usize>) {
        self.chosen.push((dim, places));
        self.before.push(self.axes.len());
    }

    /// The shape of the result, and the position of each element in the tensor, which is row-major.
    fn result(&self, shape: &[usize], count: usize) -> (Vec<usize>, Vec<usize>) {
        let stride = |dim: usize| shape[dim + 1..].iter().product::<usize>();
        // What each step along an axis adds to the position.
        let mut axes: Vec<Vec<usize>> = Vec::new();
        for (dim, places) in &self.axes {
            axes.push(
                places.iter().map(|place| dim.map_or(0, |dim| place * stride(dim))).collect(),
            );
        }
        if let Some(&first) = self.before.first() {
            let side_by_side = self.before.iter().all(|&before| before == first);
            let at =
                |at: usize| self.chosen.iter().map(|(dim, places)| places[at] * stride(*dim)).sum();
            axes.insert(if side_by_side { first } else { 0 }, (0..count).map(at).collect());
        }
        let start = self.fixed.iter().map(|&(dim, place)| place * stride(dim)).sum();
        let mut positions = vec![start];
        for axis in &axes {
            let step = |&position: &usize| axis.iter().map(move |added| position + added);
            positions = positions.iter().flat_map(step).collect();
        }
        (axes.iter().map(Vec::len).collect(), positions)
    }
}

fn drawn() -> impl Strategy<Value = Drawn> {
    prop_oneof![
        (0usize..10).prop_map(Drawn::Integer),
        (0usize..5, 0usize..7, 1usize..4)
            .prop_map(|(begin, end, step)| Drawn::Range(begin, end, step)),
        any::<u64>().prop_map(Drawn::List),
        any::<u64>().prop_map(Drawn::Mask),
        Just(Drawn::NewAxis),
    ]
}

/// A tensor of a shape that counts from 0 in row-major order, in memory of the opposite order if
/// `transposed`.
fn counted(shape: &[usize], transposed: bool) -> Result<Tensor> {
    let count = shape.iter().product::<usize>();
    let x = Tensor::arange(count, Device::Cpu)?.reshape(shape)?;
    if !transposed {
        return Ok(x);
    }
    let order: Vec<isize> = (0..shape.len() as isize).rev().collect();
    x.permute(&order)?.contiguous()?.permute(&order)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn brackets_read_and_write_what_the_reference_does(
        shape in prop::collection::vec(1usize..5, 1..5),
        drawn in prop::collection::vec(drawn(), 0..6),
        count in 0usize..4, transposed in any::<bool>(),
    ) {
        let made = Reference::new(&shape, &drawn, count).expect("small tensors");
        let (expected_shape, positions) = made.result(&shape, count);
        let x = counted(&shape, transposed).expect("a small tensor");
        let indices = || made.indices.as_slice();

        let read = x.i(indices()).expect("the indices are in range");
        prop_assert_eq!(read.shape(), &*expected_shape);
        let numbers: Vec<i64> = positions.iter().map(|&position| position as i64).collect();
        prop_assert_eq!(read.to_vec::<i64>().expect("numbers"), numbers);

        let values: Vec<i64> = (0..positions.len() as i64).map(|at| 1000 + at).collect();
        let value = Tensor::from_vec(values.clone(), &*expected_shape, Device::Cpu).expect("values");
        let mut expected: Vec<i64> = (0..x.numel() as i64).collect();
        let mut sums = expected.clone();
        for (&position, &value) in positions.iter().zip(&values) {
            expected[position] = value;
            sums[position] += value;
        }
        let added = x.index_put(indices(), &value, true).expect("the value has the part's shape");
        prop_assert_eq!(added.to_vec::<i64>().expect("numbers"), sums);
        x.set_i(indices(), &value).expect("the value has the part's shape");
        prop_assert_eq!(x.to_vec::<i64>().expect("numbers"), expected);
    }
}
