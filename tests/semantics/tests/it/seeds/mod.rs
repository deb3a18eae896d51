//! The programs of the seed documents, line by line.
//!
//! Five versions of one note: where a later spelling replaced an earlier one, both programs stand
//! here, in today's spelling, with the seed's own line beside each.

mod agnostic_2017;
mod agnostic_2018;
mod devices_2017;
mod devices_2018;
mod pinned;
mod streams_2018;

pub(crate) use streams_2018::sum_on_a_side_stream_waits_for_normal_on_the_default_stream;
