//! The end of contexts, and of everything when the machine is reset.

use super::initialise;
use super::primary::deactivate;
use crate::device::contexts::context::Context;
use crate::device::machine::SimulatedMachine;
use crate::time;

/// Waits for a context's work, and for that of others which may use its memory, and takes down all
/// that belongs to it. The caller has made sure that the handle names it no more.
pub(crate) fn destroy_context(machine: &'static SimulatedMachine, context: &Context) {
    let id = context.id;
    context.die();
    machine.scheduler.wait_for_owner(id);
    wait_for_users(machine, context);
    if cuda_check::is_on() {
        let modules = machine.modules.handles(|module| module.context.id == id);
        let streams = machine.streams.handles(|stream| stream.context.id == id);
        let events = machine.events.handles(|event| event.context.id == id);
        cuda_check::context_ends(id, modules.into_iter().chain(streams).chain(events));
    }
    initialise::observer().context_ends(id);
    drop(machine.functions.remove_all(|function| function.module.context.id == id));
    drop(machine.modules.remove_all(|module| module.context.id == id));
    drop(machine.streams.remove_all(|stream| stream.context.id == id));
    drop(machine.events.remove_all(|event| event.context.id == id));
    drop(machine.arrays.remove_all(|array| array.context.id == id));
    context.device.memory.free_all(Some(id));
    machine.host_memory.free_all(Some(id));
    context.output.write();
    // What the program freed in its streams belongs to no context, and would wait for the next one.
    machine.pools.synchronised(context.device, &machine.devices);
}

/// Waits for the work of other contexts that may be using memory of this one, as freeing it piece
/// by piece would.
fn wait_for_users(machine: &'static SimulatedMachine, context: &Context) {
    let scheduler = machine.scheduler;
    let memory = &context.device.memory;
    if machine.host_memory.belongs_to(context.id) || memory.owns_managed(context.id) {
        return scheduler.wait_for_everything();
    }
    let reaches =
        |other: &Context| other.device.id == context.device.id || other.has_peer(context.id);
    if memory.owns_any(context.id) {
        let others = machine.contexts.all();
        others.iter().filter(|other| reaches(other)).for_each(|other| {
            scheduler.wait_for_owner(other.id);
        });
    }
}

/// Makes all devices as new. Waits for what runs, host functions included; what is queued is
/// dropped.
pub(crate) fn reset(machine: &'static SimulatedMachine) {
    machine.devices.iter().for_each(|device| device.health.halt());
    machine.scheduler.wait_for_everything();
    initialise::observer().reset();
    for context in machine.contexts.remove_all(|context| !context.is_primary) {
        destroy_context(machine, &context);
    }
    machine.devices.iter().for_each(|device| deactivate(machine, device));
    machine.virtual_memory.reset(&machine.devices);
    machine.pools.reset();
    for device in &machine.devices {
        device.memory.free_all(None);
        device.memory.discard();
        device.memory.set_limit(machine.config.memory_per_device);
    }
    drop(machine.libraries.remove_all(|_| true));
    drop(machine.kernels.remove_all(|_| true));
    drop(machine.linkers.remove_all(|_| true));
    machine.host_memory.free_all(None);
    machine.scheduler.set_schedule(&machine.config.schedule);
    time::set(&machine.config.time);
    time::forget_declared();
    machine.begin_epoch();
    machine.devices.iter().for_each(|device| device.health.restore());
    // They were good when the machine was made, and so they are now.
    let applied = machine.inject_faults();
    debug_assert_eq!(applied, Ok(()), "the machine is as it was");
}
