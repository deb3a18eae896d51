//! What is read, and what is refused.

use pickle::{Allowed, Error, GlobalName, Pickle, PickleWriter};

const FUNCTION: GlobalName = GlobalName { module: "m", name: "f" };
const ALLOWED: Allowed<'static> = Allowed { globals: &[FUNCTION], persistent_ids: true };

fn read(program: &[u8]) -> Result<Pickle, Error> {
    Pickle::read(&[b"\x80\x02", program].concat(), ALLOWED)
}

fn problem(program: &[u8]) -> String {
    read(program).expect_err("it is refused").to_string()
}

#[test]
fn numbers_and_texts_are_read() -> Result<(), Error> {
    let pickle =
        read(b"(K\x05J\xfe\xff\xff\xff\x8a\x01\x80G?\xf8\0\0\0\0\0\0\x88NX\x02\0\0\0\xc3\xa9t.")?;
    let items: Vec<_> = pickle.root().items().expect("a tuple").collect();
    let ints: Vec<_> = items.iter().map(|item| item.int()).collect();
    assert_eq!(ints, [Some(5), Some(-2), Some(-128), None, Some(1), None, None]);
    assert_eq!(items[3].float(), Some(1.5));
    assert!(items[5].is_none());
    assert_eq!(items[6].text().map(|text| &**text), Some("é"));
    Ok(())
}

#[test]
fn an_ordered_dict_is_a_dictionary_with_or_without_attributes() -> Result<(), Error> {
    let pickle = read(b"ccollections\nOrderedDict\n)RX\x01\0\0\0aK\x07s}X\x01\0\0\0_K\x01sb.")?;
    assert_eq!(pickle.root().entries().expect("a dictionary").len(), 1);
    assert_eq!(pickle.root().get("a").and_then(|a| a.int()), Some(7));
    let pickle = read(b"ccollections\nOrderedDict\n]X\x01\0\0\0aK\x07\x86a\x85R.")?;
    assert_eq!(pickle.root().get("a").and_then(|a| a.int()), Some(7));
    assert!(problem(b"ccollections\nOrderedDict\nK\x01\x85R.").contains("list of pairs"));
    Ok(())
}

#[test]
fn a_call_that_is_allowed_is_kept_and_not_made() -> Result<(), Error> {
    for program in [&b"cm\nf\nK\x01\x85R."[..], b"X\x01\0\0\0mX\x01\0\0\0f\x93K\x01\x85R."] {
        let pickle = read(program)?;
        let (function, arguments) = pickle.root().call().expect("a call");
        assert_eq!(function, FUNCTION);
        assert_eq!(
            arguments.items().expect("a tuple").map(|item| item.int()).collect::<Vec<_>>(),
            [Some(1)]
        );
    }
    assert_eq!(read(b"cm\nf\n.")?.root().global(), Some(FUNCTION));
    Ok(())
}

#[test]
fn a_persistent_id_is_read_where_it_is_allowed() -> Result<(), Error> {
    let id = read(b"K\x03Q.")?;
    assert_eq!(id.root().persistent_id().and_then(|id| id.int()), Some(3));
    let error = Pickle::read(b"\x80\x02K\x03Q.", Allowed::NOTHING).expect_err("it is not allowed");
    assert!(error.to_string().contains("outside"), "{error}");
    Ok(())
}

#[test]
fn what_is_not_on_the_list_is_refused_by_its_name() {
    for program in [&b"cos\nsystem\n."[..], b"X\x02\0\0\0osX\x06\0\0\0system\x93."] {
        let error = read(program).expect_err("it is not on the list");
        let Error::Global { module, name, .. } = &error else { panic!("{error}") };
        assert_eq!((module.as_str(), name.as_str()), ("os", "system"));
        assert!(error.to_string().contains("os.system"), "{error}");
    }
}

#[test]
fn what_makes_objects_otherwise_is_refused() {
    for program in [&b"cm\nf\n)\x81."[..], b"(im\nf\n", b"(cm\nf\no.", b"\x82\x01."] {
        assert!(problem(program).contains("classes"), "{}", problem(program));
    }
    assert!(problem(b"K\x01)R.").contains("no function"));
    assert!(problem(b"K\x01Nb.").contains("nothing to work on"));
    assert!(problem(b"]Nb.").contains("no object"));
    assert!(problem(b"\x8f.").contains("not known"));
}

#[test]
fn a_list_cannot_become_many_dictionaries() {
    // A list of 100 equal pairs, of which each call makes a dictionary of 100 entries.
    let pair = b"h\x00".repeat(100);
    let list = [&b"K\x01K\x02\x86q\x000]("[..], &pair, b"e\x85q\x010"].concat();
    let function = b"ccollections\nOrderedDict\nq\x020";
    let call = b"h\x02h\x01R0";
    let few = [&list[..], function, call, b"N."].concat();
    assert!(read(&few).is_ok(), "{}", problem(&few));
    let many = [&list[..], function, &call.repeat(100), b"N."].concat();
    assert!(problem(&many).contains("again and again"));
}

#[test]
fn parts_may_be_in_each_other_and_are_read_once() -> Result<(), Error> {
    // A list that is its own item, a million times.
    let program = [&b"]q\x00("[..], &b"h\x00".repeat(1_000_000), b"e."].concat();
    let pickle = read(&program)?;
    let first = pickle.root().items().expect("a list").next().expect("a million");
    assert_eq!(first.identity(), pickle.root().identity());
    Ok(())
}

#[test]
fn deep_nesting_takes_no_deep_stack() -> Result<(), Error> {
    let depth = 1_000_000;
    let pickle = read(&[&b"]".repeat(depth)[..], &b"a".repeat(depth - 1), b"."].concat())?;
    let mut value = pickle.root();
    for _ in 1..depth {
        value = value.items().expect("a list").next().expect("the one below");
    }
    assert_eq!(value.items().expect("a list").len(), 0);
    Ok(())
}

#[test]
fn what_is_written_is_read() -> Result<(), Error> {
    let mut writer = PickleWriter::default();
    writer.dict(|entries| {
        entries.of("text").text("value");
        entries.of("again").text("value");
        entries.of("pair").pair((300, u64::MAX));
        entries.of("flag").bool(true);
        entries.of("list").list(&[1_u64, 70_000], |writer, item| writer.int(*item));
    });
    let pickle = Pickle::read(&writer.finish(), Allowed::NOTHING)?;
    let root = pickle.root();
    let texts = ["text", "again"].map(|key| root.get(key).and_then(|value| value.text()));
    assert_eq!(texts.map(|text| text.map(|text| &**text)), [Some("value"); 2]);
    let ints = |key: &str| {
        let items = root.get(key).and_then(|value| value.items()).expect("a list");
        items.map(|item| item.int().expect("a number")).collect::<Vec<_>>()
    };
    assert_eq!(ints("pair"), [300, i128::from(u64::MAX)]);
    assert_eq!(ints("list"), [1, 70_000]);
    assert_eq!(root.get("flag").and_then(|flag| flag.int()), Some(1));
    assert!(root.get("none").is_none());
    Ok(())
}
