//! DataLoader and DataParallel: feeding and using several GPUs from one process.
