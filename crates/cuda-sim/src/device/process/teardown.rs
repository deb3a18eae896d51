//! The end of contexts, and of everything when the machine is reset.

use super::initialise;
use super::primary::deactivate;
use crate::check;
use crate::device::contexts::context::Context;
use crate::device::platform::Platform;
use crate::time;

/// Waits for a context's work, and for that of others which may use its memory, and takes down all
/// that belongs to it. The caller has made sure that the handle names it no more.
pub(crate) fn destroy_context(platform: &'static Platform, context: &Context) {
    let id = context.id;
    context.die();
    platform.scheduler.wait_for_owner(id);
    wait_for_users(platform, context);
    if check::is_on() {
        let modules = platform.modules.handles(|module| module.context.id == id);
        let streams = platform.streams.handles(|stream| stream.context.id == id);
        let events = platform.events.handles(|event| event.context.id == id);
        check::context_ends(id, modules.into_iter().chain(streams).chain(events));
    }
    initialise::observer().context_ends(id);
    drop(platform.functions.remove_all(|function| function.module.context.id == id));
    drop(platform.modules.remove_all(|module| module.context.id == id));
    drop(platform.streams.remove_all(|stream| stream.context.id == id));
    drop(platform.events.remove_all(|event| event.context.id == id));
    drop(platform.arrays.remove_all(|array| array.context.id == id));
    context.device.memory.free_all(Some(id));
    platform.host_memory.free_all(Some(id));
    context.output.write();
}

/// Waits for the work of other contexts that may be using memory of this one, as freeing it piece by
/// piece would.
fn wait_for_users(platform: &'static Platform, context: &Context) {
    let scheduler = platform.scheduler;
    let memory = &context.device.memory;
    if platform.host_memory.belongs_to(context.id) || memory.owns_managed(context.id) {
        return scheduler.wait_for_everything();
    }
    let reaches =
        |other: &Context| other.device.id == context.device.id || other.has_peer(context.id);
    if memory.owns_any(context.id) {
        let others = platform.contexts.all();
        others.iter().filter(|other| reaches(other)).for_each(|other| {
            scheduler.wait_for_owner(other.id);
        });
    }
}

/// Makes all devices as new. Waits for what runs, host functions included; what is queued is
/// dropped.
pub(crate) fn reset(platform: &'static Platform) {
    platform.devices.iter().for_each(|device| device.health.halt());
    platform.scheduler.wait_for_everything();
    initialise::observer().reset();
    for context in platform.contexts.remove_all(|context| !context.is_primary) {
        destroy_context(platform, &context);
    }
    platform.devices.iter().for_each(|device| deactivate(platform, device));
    platform.virtual_memory.reset(&platform.devices);
    platform.pools.reset();
    for device in &platform.devices {
        device.memory.free_all(None);
        device.memory.discard();
        device.memory.set_limit(platform.config.memory_per_device);
    }
    drop(platform.libraries.remove_all(|_| true));
    drop(platform.kernels.remove_all(|_| true));
    drop(platform.linkers.remove_all(|_| true));
    platform.host_memory.free_all(None);
    platform.scheduler.set_schedule(&platform.config.schedule);
    time::set(&platform.config.time);
    time::forget_declared();
    platform.begin_epoch();
    platform.devices.iter().for_each(|device| device.health.restore());
    // They were good when the machine was made, and so they are now.
    let applied = platform.inject_faults();
    debug_assert_eq!(applied, Ok(()), "the machine is as it was");
}
