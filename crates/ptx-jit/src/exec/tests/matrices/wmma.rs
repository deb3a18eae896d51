//! `wmma` of every shape, type and layout, on random matrices.

use ptx::{MatrixType, ScalarType};

use super::reference::{Kind, Numbers};
use super::tiles;
use crate::exec::harness::{Device, at_each_level};

/// A product: its extents, the types of the factors, of c and of the result.
#[derive(Clone, Copy, Debug)]
struct Product {
    extents: [usize; 3],
    factors: [MatrixType; 2],
    addends: ScalarType,
    sums: ScalarType,
    saturates: bool,
}

/// All products of PTX ISA 9.0, 9.7.14.4, from 8 bits on.
fn all_products() -> Vec<Product> {
    use MatrixType::{BF16, F16, F64, S8, TF32, U8};
    let mut products = Vec::new();
    let mut add = |extents, factors, addends, sums| {
        products.push(Product { extents, factors, addends, sums, saturates: false });
    };
    for extents in [[16, 16, 16], [32, 8, 16], [8, 32, 16]] {
        for sums in [ScalarType::F16, ScalarType::F32] {
            for addends in [ScalarType::F16, ScalarType::F32] {
                add(extents, [F16; 2], addends, sums);
            }
        }
        add(extents, [BF16; 2], ScalarType::F32, ScalarType::F32);
        for ty in [S8, U8] {
            add(extents, [ty; 2], ScalarType::S32, ScalarType::S32);
        }
    }
    add([16, 16, 8], [TF32; 2], ScalarType::F32, ScalarType::F32);
    add([8, 8, 4], [F64; 2], ScalarType::F64, ScalarType::F64);
    let integers = products.iter().filter(|product| product.sums == ScalarType::S32);
    let clamped: Vec<_> = integers.map(|&known| Product { saturates: true, ..known }).collect();
    products.extend(clamped);
    products
}

/// A matrix in memory: its rows and columns, whether it lies in rows, and the distance of these.
#[derive(Clone, Copy, Debug)]
struct Layout {
    rows: usize,
    columns: usize,
    in_rows: bool,
    stride: usize,
}

impl Layout {
    fn new([rows, columns]: [usize; 2], in_rows: bool, gap: usize) -> Layout {
        Layout { rows, columns, in_rows, stride: if in_rows { columns } else { rows } + gap }
    }

    fn lines(self) -> usize {
        if self.in_rows { self.rows } else { self.columns }
    }

    fn index(self, row: usize, column: usize) -> usize {
        if self.in_rows { row * self.stride + column } else { column * self.stride + row }
    }

    fn word(self) -> &'static str {
        if self.in_rows { "row" } else { "col" }
    }
}

impl Product {
    fn kinds(self) -> [Kind; 4] {
        let [a, b] = self.factors.map(Kind::Factor);
        [a, b, Kind::Sum(self.addends), Kind::Sum(self.sums)]
    }

    /// The layouts of a, b, c and the result, the first by the bits of a number.
    fn layouts(self, bits: usize, gap: usize) -> [Layout; 4] {
        let [m, n, k] = self.extents;
        let matrices = [[m, k], [k, n], [m, n], [m, n]];
        std::array::from_fn(|at| Layout::new(matrices[at], bits >> at & 1 != 0, gap))
    }

    /// The numbers of registers of the fragments of a, b, c and the result.
    fn registers(self) -> [usize; 4] {
        let [m, n, k] = self.extents;
        let factor = |lines: usize, kind: Kind| match self.factors[0] {
            MatrixType::F16 => 8,
            _ => lines * k / 32 / kind.packing().0,
        };
        let [a, b, c, d] = self.kinds();
        let sums = |kind: Kind| m * n / 32 / kind.packing().0;
        [factor(m, a), factor(n, b), sums(c), sums(d)]
    }

    /// A kernel that loads, multiplies and stores, or only moves c to the result. b goes by way of
    /// shared memory if it is `staged`.
    fn kernel(self, layouts: [Layout; 4], staged: bool) -> String {
        let [m, n, k] = self.extents;
        let shape = format!("m{m}n{n}k{k}");
        let list = register_list;
        let word = if self.sums == ScalarType::F64 { "f64" } else { "b32" };
        let (kinds, [a, b, c, d]) = (self.kinds(), self.registers());
        let types = kinds.map(type_name);
        let [la, lb, lc, ld] = layouts;
        let middle = match self.factors[0] {
            MatrixType::F16 => format!("{}.{}", types[3], types[2]),
            _ => format!("{}.{}.{}.{}", types[3], types[0], types[1], types[2]),
        };
        let clamp = match self.sums {
            _ if self.saturates => ".satfinite",
            ScalarType::F64 => ".rn",
            _ => "",
        };
        let bytes = kinds[1].packing().1 / 8 * lb.lines() * lb.stride;
        let from = if staged { ".shared" } else { "" };
        let place = if staged { "%s" } else { "%q" };
        format!(
            ".version 8.7 .target sm_90 .address_size 64
            .visible .entry k(.param .u64 out, .param .u64 a, .param .u64 b, .param .u64 c) {{
            .reg .b64 %o, %p, %q, %r, %u; .reg .b32 %t, %s, %v, %w; .reg .pred %e;
            .reg .{word} %a<8>, %b<8>, %c<8>, %d<8>; .shared .align 32 .b8 tile[4096];
            ld.param.u64 %o, [out]; ld.param.u64 %p, [a]; ld.param.u64 %q, [b];
            ld.param.u64 %r, [c]; mov.u32 %t, %tid.x; mov.u32 %s, tile; mov.u32 %v, %tid.x;
            LOOP: setp.ge.u32 %e, %v, {bytes}; @%e bra END; cvt.u64.u32 %u, %v;
            add.u64 %u, %q, %u; ld.global.u8 %w, [%u]; add.u32 %t, %s, %v; st.shared.u8 [%t], %w;
            add.u32 %v, %v, 32; bra LOOP; END: bar.sync 0; mov.u32 %w, {};
            wmma.load.a.sync.aligned.{}.{shape}.global.{} {}, [%p], {};
            wmma.load.b.sync.aligned.{}.{shape}{from}.{} {}, [{place}], %w;
            wmma.load.c.sync.aligned.{}.{shape}.global.{} {}, [%r], {};
            wmma.mma.sync.aligned.{}.{}.{shape}.{middle}{clamp} {}, {}, {}, {};
            wmma.store.d.sync.aligned.{}.{shape}.global.{} [%o], {}, {};
            ret; }}",
            lb.stride,
            la.word(),
            types[0],
            list("a", a),
            la.stride,
            lb.word(),
            types[1],
            list("b", b),
            lc.word(),
            types[2],
            list("c", c),
            lc.stride,
            la.word(),
            lb.word(),
            list("d", d),
            list("a", a),
            list("b", b),
            list("c", c),
            ld.word(),
            types[3],
            list("d", d),
            ld.stride,
        )
    }
}

/// Such as `{%a0, %a1}`.
fn register_list(name: &str, count: usize) -> String {
    let names: Vec<_> = (0..count).map(|index| format!("%{name}{index}")).collect();
    format!("{{{}}}", names.join(", "))
}

/// The type of a matrix's elements in PTX.
fn type_name(kind: Kind) -> String {
    match kind {
        Kind::Factor(ty) => format!("{ty:?}").to_lowercase(),
        Kind::Sum(ty) => format!("{ty:?}").to_lowercase(),
    }
}

/// A matrix of random numbers: its bytes in memory, and its values in rows.
fn random(kind: Kind, layout: Layout, numbers: &mut Numbers) -> (Vec<u8>, Vec<f64>) {
    let bytes = kind.packing().1 / 8;
    let mut memory = vec![0_u8; bytes * layout.lines() * layout.stride];
    let mut values = Vec::new();
    for row in 0..layout.rows {
        for column in 0..layout.columns {
            let (bits, value) = kind.random(numbers, true);
            let at = bytes * layout.index(row, column);
            memory[at..at + bytes].copy_from_slice(&bits.to_le_bytes()[..bytes]);
            values.push(value);
        }
    }
    (memory, values)
}

/// Multiplies matrices of small whole numbers, whose product is exact.
fn check(device: &mut Device, product: Product, layouts: [Layout; 4], numbers: &mut Numbers) {
    let kinds = product.kinds();
    let [m, n, depth] = product.extents;
    device.reset();
    let [a, b, c] = [0, 1, 2].map(|at| random(kinds[at], layouts[at], numbers));
    let bytes = kinds[3].packing().1 / 8;
    let inputs = [&a, &b, &c].map(|(memory, _)| device.upload(memory));
    let output = device.allocate(bytes * layouts[3].lines() * layouts[3].stride);
    let [first, second, third] = &inputs;
    device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, first, second, third]).expect("no fault");
    let result: Vec<u8> = device.download(output);
    for row in 0..m {
        for column in 0..n {
            let terms = (0..depth).map(|k| a.1[row * depth + k] * b.1[k * n + column]);
            let mut exact = c.1[row * n + column] + terms.sum::<f64>();
            if product.sums == ScalarType::S32 {
                exact = match product.saturates {
                    true => exact.clamp(i32::MIN.into(), i32::MAX.into()),
                    false => f64::from(exact as i64 as i32),
                };
            }
            let at = bytes * layouts[3].index(row, column);
            let mut bits = [0; 8];
            bits[..bytes].copy_from_slice(&result[at..at + bytes]);
            let value = kinds[3].value(u64::from_le_bytes(bits));
            assert!(value == exact, "{product:?}: {value} and not {exact} at {row}, {column}");
        }
    }
}

#[test]
fn wmma_multiplies_matrices_in_any_layout() {
    let mut numbers = Numbers(3);
    for (index, product) in all_products().into_iter().enumerate() {
        // A kernel for each layout takes most of the time: without being asked for more, a few of them.
        let wanted = |bits: &usize| tiles() >= 1000 || (bits + index).is_multiple_of(5);
        for bits in (0..16).filter(wanted) {
            let (gap, staged) = (if bits % 3 == 0 { 0 } else { 16 }, bits % 2 == 1);
            let layouts = product.layouts(bits, gap);
            let mut device = Device::new(&product.kernel(layouts, staged));
            device.check = crate::abi::CheckLevel::Window;
            for _ in 0..tiles().div_ceil(16) {
                check(&mut device, product, layouts, &mut numbers);
            }
        }
    }
}

#[test]
fn wmma_is_the_same_thread_by_thread() {
    for product in all_products() {
        let layouts = product.layouts(5, 8);
        at_each_level(&product.kernel(layouts, true), |device| {
            check(device, product, layouts, &mut Numbers(4));
        });
    }
}

#[test]
fn fragments_of_one_type_have_their_elements_in_the_same_places() {
    let source = ".version 8.7 .target sm_90 .address_size 64
        .visible .entry k(.param .u64 out, .param .u64 in) {
        .reg .b64 %o, %i; .reg .f32 %a<8>, %b<8>;
        ld.param.u64 %o, [out]; ld.param.u64 %i, [in];
        wmma.load.c.sync.aligned.row.m32n8k16.global.f32 \
            {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, [%i];
        wmma.load.c.sync.aligned.col.m32n8k16.global.f32 \
            {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}, [%i];
        add.f32 %a0, %a0, %b0; add.f32 %a1, %a1, %b1; add.f32 %a2, %a2, %b2;
        add.f32 %a3, %a3, %b3; add.f32 %a4, %a4, %b4; add.f32 %a5, %a5, %b5;
        add.f32 %a6, %a6, %b6; add.f32 %a7, %a7, %b7;
        wmma.store.d.sync.aligned.row.m32n8k16.global.f32 [%o], \
            {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7};
        ret; }";
    at_each_level(source, |device| {
        let values: Vec<f32> = (0..256).map(|index| (index * index % 1000) as f32).collect();
        let (input, output) = (device.upload(&values), device.allocate(1024));
        device.launch("k", [1; 3], [32, 1, 1], 0, &[&output, &input]).expect("no fault");
        let sums: Vec<f32> = device.download(output);
        for row in 0..32 {
            for column in 0..8 {
                let expected = values[8 * row + column] + values[32 * column + row];
                assert!((sums[8 * row + column] - expected).abs() < 0.5);
            }
        }
    });
}
