//! The short messages by which ranks tell each other which operation they are in, and that they
//! end.

/// The most bytes of a message; a text that is longer is cut.
pub(crate) const NOTICE_BYTES: usize = 1024;

/// A message about the group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// The sender is in this operation.
    Call(String),
    /// The sender has dropped its communicator.
    Leave,
    /// A rank cannot go on, the sender or one that it knows of.
    Abort(RankAbort),
}

/// The end of a rank that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RankAbort {
    pub(crate) rank: usize,
    pub(crate) reason: String,
}

/// The bytes before the text: the kind, the length of the text, and a rank.
const HEAD: usize = 7;

impl Notice {
    pub(crate) fn encode(&self) -> Box<[u8]> {
        let (kind, rank, text) = match self {
            Notice::Call(text) => (0, 0, text.as_str()),
            Notice::Leave => (1, 0, ""),
            Notice::Abort(RankAbort { rank, reason }) => (2, *rank, reason.as_str()),
        };
        let text = &text[..text.floor_char_boundary(NOTICE_BYTES - HEAD)];
        let mut bytes = vec![kind];
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend((rank as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.into()
    }

    /// The message in a buffer that is longer than it.
    pub(crate) fn decode(bytes: &[u8; NOTICE_BYTES]) -> Notice {
        let [kind, low, high, a, b, c, d, text @ ..] = bytes;
        let len = usize::from(u16::from_le_bytes([*low, *high]));
        let rank = u32::from_le_bytes([*a, *b, *c, *d]) as usize;
        let text = String::from_utf8_lossy(&text[..len.min(text.len())]).into_owned();
        match kind {
            0 => Notice::Call(text),
            1 => Notice::Leave,
            _ => Notice::Abort(RankAbort { rank, reason: text }),
        }
    }
}
