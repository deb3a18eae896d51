//! The runtime: order, observers, kernels, virtual memory, settings of threads.

use std::panic::Location;
use std::sync::Arc;

use gpu_runtime::{
    Access, DeviceAllocation, DriverChoice, Freed, HostAllocation, MemoryAccess, MemoryUse,
    Observer, Pending, RaceChecker, StreamKeepAlive, Timeline, Uses, hold_on_host, ordered,
    ordered_between, ordered_on_host,
};

use crate::calls::entry::{CallEntry, entries};
use crate::draw::small_work;

pub(super) const ENTRIES: &[CallEntry] = entries! {
    "gpu_runtime::AddressRange::map", "gpu_runtime::AddressRange::set_access",
    "gpu_runtime::AddressRange::unmap", "gpu_runtime::VirtualMemory::create",
    "gpu_runtime::VirtualMemory::reserve" => |d| {
        let memory = d.cuda()?.virtual_memory().ok()??;
        drop((memory.reserve(d.size()?), memory.create(d.size()?)));
        let page = memory.granularity();
        let (mut range, physical) = (memory.reserve(4 * page).ok()?, memory.create(page).ok()?);
        for _ in 0..5 {
            let at = if d.flag()? { d.rng().below(5) * page } else { d.size()? };
            let part = if d.flag()? { at..at.saturating_add(page) } else { d.part()? };
            let _ = match d.rng().below(3) {
                0 => range.map(at, &physical),
                1 => range.set_access(part),
                _ => range.unmap(part),
            };
        }
        if d.flag()? {
            drop(physical);
            drop(range);
        }
        Some(())
    };
    "gpu_runtime::Device::get" => |d| {
        drop(gpu_runtime::Device::get(d.size()?));
        Some(())
    };
    "gpu_runtime::Device::load", "gpu_runtime::Module::function",
    "gpu_runtime::Function::allow_shared_bytes" => |d| {
        let mut text = include_bytes!("../../../../../kernels/ptx/saxpy.ptx").to_vec();
        for _ in 0..d.rng().below(3) {
            let at = d.rng().below(text.len());
            // Text stays text: what is no text is for the driver's own fuzzing.
            text[at] = b' ' + d.byte()? % 95;
        }
        if d.rng().one_in(4) {
            text.truncate(d.rng().below(text.len()));
        }
        let module = d.cuda()?.load(&text).ok()?;
        drop(module.function(&d.text()?));
        let function = module.function("saxpy").ok()?;
        let _ = function.allow_shared_bytes(d.small_size()?);
        Some(())
    };
    "gpu_runtime::DeviceAllocation::new", "gpu_runtime::HostAllocation::new" => |d| {
        drop(DeviceAllocation::new(d.cuda()?, d.size()?));
        drop(HostAllocation::new(d.size()?));
        Some(())
    };
    "gpu_runtime::StreamKeepAlive::new" => |d| {
        let stream = d.stream()?;
        let kept = StreamKeepAlive::new(&stream);
        drop(stream);
        let _ = kept.is_abandoned();
        Some(())
    };
    "gpu_runtime::MemoryAccess::read", "gpu_runtime::MemoryAccess::write",
    "gpu_runtime::host_access" => |d| {
        let accesses = [
            MemoryAccess::read(d.address()?, d.size()?),
            MemoryAccess::write(d.address()?, d.size()?),
        ];
        let checker = d.flag()?.then(RaceChecker::start);
        let _ = gpu_runtime::host_access(&accesses);
        drop(checker.map(RaceChecker::finish));
        Some(())
    };
    "gpu_runtime::MemoryUse::new", "gpu_runtime::MemoryUse::over", "gpu_runtime::ordered",
    "gpu_runtime::ordered_between",
    "gpu_runtime::ordered_on_host" => |d| {
        let (stream, one, two) = (d.stream()?, d.buffer()?, d.buffer()?);
        let mut operands = vec![
            MemoryUse::new(one.uses(), Access::Read),
            MemoryUse::new(two.uses(), Access::Write).over(d.address()?, d.size()?),
        ];
        if d.flag()? {
            operands.push(operands[1]);
        }
        let _ = ordered(&stream, &operands, || Ok(()));
        let _ = ordered_between(&stream, &d.stream()?, &operands, || Ok(()));
        let _ = ordered_on_host(&operands, || ());
        Some(())
    };
    "gpu_runtime::UseRecord::last_if_only_on", "gpu_runtime::Uses::record_read",
    "gpu_runtime::Uses::record_stream", "gpu_runtime::Uses::record_write",
    "gpu_runtime::Uses::shared_since" => |d| {
        let buffer = d.buffer()?;
        let since = if d.flag()? { Some(d.point()?) } else { None };
        let unowned = Uses::shared_since(since);
        for uses in [buffer.uses(), &unowned] {
            uses.record_read(d.point()?);
            uses.record_write(d.point()?);
            uses.record_stream(&d.stream()?);
            let _ = uses.snapshot().last_if_only_on(&d.stream()?);
        }
        Some(())
    };
    "gpu_runtime::Uses::release", "gpu_runtime::Uses::try_release" => |d| {
        let (uses, stream) = (Uses::shared_since(Some(d.point()?)), d.stream()?);
        drop(uses.try_release(d.flag()?.then_some(&stream)));
        uses.release(d.flag()?.then_some(&stream), drop);
        Some(())
    };
    "gpu_runtime::Uses::guard", "gpu_runtime::UseRecord::points_before",
    "gpu_runtime::hold_on_host" => |d| {
        let (buffer, uses, point) = (d.buffer()?, Uses::shared_with_host(), d.point()?);
        uses.record_write(point);
        let guard = d.flag()?.then(|| uses.guard(Location::caller()));
        let access = if d.flag()? { Access::Write } else { Access::Read };
        let held = hold_on_host([(buffer.uses(), access), (&*uses, access), (&*uses, Access::Read)]);
        let _ = uses.snapshot().points_before(access).count();
        drop(held);
        drop(guard);
        Some(())
    };
    "gpu_runtime::Freed::part" => |d| {
        let checker = d.flag()?.then(RaceChecker::start);
        Freed::part(d.address()?, d.size()?, &[]).tell();
        drop(checker.map(RaceChecker::finish));
        Some(())
    };
    "gpu_runtime::Pending::new" => |d| {
        let pending = Pending::new(d.point()?, small_work);
        let _ = pending.is_complete();
        Some(())
    };
    "gpu_runtime::StreamPoint::wait", "gpu_runtime::StreamPoint::is_complete" => |d| {
        let point = d.stream()?.point();
        let _ = (point.is_complete(), point.wait());
        Some(())
    };
    "gpu_runtime::Timeline::start", "gpu_runtime::Trace::overlap",
    "gpu_runtime::Trace::write_json" => |d| {
        let timeline = Timeline::start(d.cudas()?).ok()?;
        let tensor = d.tensor()?;
        d.look(tensor.add(1).ok());
        let trace = timeline.finish().ok()?;
        let overlap = trace.overlap(d.cuda()?);
        let _ = (overlap.hidden(), overlap.efficiency(), trace.write_json(Vec::new()));
        Some(())
    };
    "gpu_runtime::RaceChecker::start", "gpu_runtime::RaceChecker::finish" => |d| {
        let checker = RaceChecker::start();
        let (one, two, stream) = (d.tensor()?, d.tensor()?, d.tensor_stream()?);
        let inside = stream.enter().ok();
        let _ = (one.add_(&two), two.add(&one));
        drop(inside);
        drop((one, two));
        drop(checker.finish());
        Some(())
    };
    "gpu_runtime::observe" => |d| {
        #[derive(Debug)]
        struct Looker;
        impl Observer for Looker {}
        let observation = gpu_runtime::observe(Arc::new(Looker));
        let tensor = d.tensor()?;
        d.look(tensor.mul(3).ok());
        drop(observation);
        Some(())
    };
    "gpu_runtime::at_place", "gpu_runtime::outermost_place" => |d| {
        gpu_runtime::at_place(Location::caller(), small_work);
        let _ = gpu_runtime::outermost_place(Location::caller());
        d.flag().map(drop)
    };
    // It is settled: another one is refused, the same one is not.
    "gpu_runtime::choose_driver" => |d| {
        let devices = if d.flag()? { None } else { Some(d.small_size()?) };
        let _ = gpu_runtime::choose_driver(DriverChoice::Software { devices });
        Some(())
    };
    "gpu_runtime::range" => |d| {
        let (outer, inner) = (gpu_runtime::range(&d.text()?), gpu_runtime::range(&d.text()?));
        drop(outer);
        drop(inner);
        Some(())
    };
    // Callbacks that use what is being dropped.
    "gpu_runtime::Stream::add_callback" => |d| {
        let (stream, buffer) = (d.stream()?, d.buffer()?);
        let _ = stream.add_callback(move || drop(buffer));
        let tensor = d.tensor()?;
        let _ = stream.add_callback(move || drop(tensor));
        if d.flag()? {
            let _ = stream.synchronize();
        }
        Some(())
    };
};
