//! scratch
use super::harness::*;

#[test]
fn scratch() {
    let source = std::fs::read_to_string("/tmp/b/a.ptx").unwrap();
    let mut d = Device::new(&source);
    let n = 256usize;
    let b: Vec<f32> = (0..n).map(|i| i as f32 * 0.5).collect();
    let bb = d.upload(&b);
    let a = d.upload(&[0f32]);
    let t = std::time::Instant::now();
    println!("{:?}", d.launch("red", [2, 1, 1], [128, 1, 1], 512, &[&a, &bb, &7i32]));
    println!("{:?}", t.elapsed());
    let r: Vec<f32> = d.download(a);
    println!("{r:?} {} {}", b[..32].iter().sum::<f32>(), b.iter().sum::<f32>());
    println!("{}", d.printed());
    println!(
        "{:?}",
        d.launch("red", [2, 1, 1], [128, 1, 1], 512, &[&a, &bb, &0i32]).map_err(|e| e.to_string())
    );
    println!(
        "{:?}",
        d.launch("red", [2, 1, 1], [128, 1, 1], 512, &[&a, &bb, &8i32]).map_err(|e| e.to_string())
    );
    println!(
        "{:?}",
        d.launch("red", [2, 1, 1], [128, 1, 1], 500, &[&a, &bb, &8i32]).map_err(|e| e.to_string())
    );
    println!(
        "{:?}",
        d.launch("red", [2, 1, 1], [128, 1, 1], 512, &[&a, &0u64, &8i32])
            .map_err(|e| e.to_string())
    );
    for k in ["strided", "dbl", "h", "g", "c"] {
        for check in [crate::exec::CheckLevel::Window, crate::exec::CheckLevel::Full] {
            let p = crate::exec::Program::load(&source).unwrap();
            let t = std::time::Instant::now();
            let r = p.kernel(k).unwrap().compile(check);
            println!("{k} {:?} {:?}", r.err(), t.elapsed());
        }
    }
    let x: Vec<f64> = (0..n).map(|i| i as f64 * 0.37 + 0.1).collect();
    let xx = d.upload(&x);
    let yy = d.allocate(8 * n);
    d.launch("dbl", [2, 1, 1], [128, 1, 1], 0, &[&yy, &xx, &(n as i32)]).unwrap();
    let y: Vec<f64> = d.download(yy);
    for i in 0..20 {
        let v = x[i];
        let e = v.sin() + v.powf(1.7) + v.tanh() + v.ln() + v.exp() + v.sqrt() / v;
        println!("{} {} {}", v, y[i], y[i] - e);
    }
}
