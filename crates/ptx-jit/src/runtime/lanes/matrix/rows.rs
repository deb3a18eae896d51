//! The exchanges between lanes that hold rows of 8 x 8 matrices of halves, and all lanes, which hold two
//! elements of each matrix.

use ptx::RowExchange;

use crate::runtime::lanes::area::{LANES, MatrixArea, MatrixPlaces};

/// Exchanges the rows at those places, as the number of an exchange says.
pub(crate) unsafe extern "C" fn exchange_rows(places: *mut MatrixPlaces, number: u32, _: u32) {
    let exchange = RowExchange::numbered(number);
    // SAFETY: native code hands over places and an area of its own stack, for four words and the results.
    let places = unsafe { &mut *places };
    // SAFETY: the area is this call's, and the lanes of each word lie in their place.
    let area = unsafe { places.gather([u32::BITS; 4].into_iter()) };
    match exchange.gathers {
        true => gather(area, exchange),
        false => spread(area, exchange),
    }
    // SAFETY: the area is this call's, and each result has a place for its lanes.
    unsafe { places.scatter(exchange.results(), u32::BITS) };
}

/// Gives each lane two elements of each matrix, whose rows are four words of a lane each.
pub(crate) fn spread(area: &mut MatrixArea, exchange: RowExchange) {
    let words: [[u32; LANES]; 4] = std::array::from_fn(|word| *area.operands[word].lanes::<u32>());
    for (matrix, result) in area.results.iter_mut().take(exchange.count.into()).enumerate() {
        let result: &mut [u32; LANES] = result.lanes_mut();
        for (lane, value) in result.iter_mut().enumerate() {
            let (row, column) = (lane / 4, lane % 4);
            *value = if exchange.transposed {
                let half = |next| {
                    words[row / 2][8 * matrix + 2 * column + next] >> (row % 2 * 16) & 0xffff
                };
                half(0) | half(1) << 16
            } else {
                words[column][8 * matrix + row]
            };
        }
    }
}

/// Gives the lanes from 8 n on the rows of matrix n, of which each lane has two elements.
pub(crate) fn gather(area: &mut MatrixArea, exchange: RowExchange) {
    let pairs: [[[u16; 2]; LANES]; 4] =
        std::array::from_fn(|matrix| *area.operands[matrix].lanes::<[u16; 2]>());
    for (word, result) in area.results.iter_mut().take(4).enumerate() {
        let result: &mut [[u16; 2]; LANES] = result.lanes_mut();
        for (lane, value) in result.iter_mut().enumerate() {
            let (matrix, row) = (lane / 8, lane % 8);
            *value = match exchange.transposed {
                false => pairs[matrix][4 * row + word],
                // Row and column change places: element `row` of the rows 2 word and 2 word + 1.
                true => [0, 1].map(|next| pairs[matrix][4 * (2 * word + next) + row / 2][row % 2]),
            };
        }
    }
}
