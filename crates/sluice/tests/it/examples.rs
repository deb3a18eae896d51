//! Each example runs to its end, and finds what it is about. `cargo test` has built them with the
//! tests; with `--test it` it does not.

use std::env;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

fn command(example: &str, arguments: &[&str]) -> Command {
    let mut program: PathBuf = env::current_exe().expect("the test's own file");
    program.pop();
    program.pop();
    program.extend(["examples", example]);
    let mut command = Command::new(program);
    command.args(arguments).env_remove("GPU_DRIVER");
    command
}

/// Runs an example with arguments, on a machine without NVIDIA's driver as on one with it, and gives
/// what it printed.
fn run(example: &str, arguments: &[&str]) -> String {
    let output = command(example, arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{example}: {error}"));
    let (printed, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{example}: {printed}{errors}");
    printed.into_owned()
}

#[test]
fn a_device_agnostic_program_runs_with_and_without_cuda() {
    assert!(run("device_agnostic", &["--disable-cuda"]).starts_with("on cpu"));
    assert!(run("device_agnostic", &[]).contains("y = "));
}

#[test]
fn a_data_set_of_ones_own_is_read_by_workers() {
    assert!(run("own_dataset", &[]).contains("epoch 60"));
}

/// Two classes that one number tells apart, in each of the formats.
#[test]
fn data_sets_are_read_from_csv_idx_and_folders_of_images() {
    const COUNT: u8 = 24;
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    let is_bright = |number: u8| number.is_multiple_of(2);
    let brightness = |number: u8| if is_bright(number) { 250 - number } else { number };

    let mut table = String::from("brightness,noise,class\n");
    let mut images = vec![0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, 2, 0, 0, 0, 2];
    let mut labels = vec![0, 0, 8, 1, 0, 0, 0, COUNT];
    for number in 0..COUNT {
        let (shade, class) = (brightness(number), u8::from(is_bright(number)));
        table += &format!("{},{},{class}\n", f32::from(shade) / 255.0, number % 3);
        images.extend([shade; 4]);
        labels.push(class);
        let file = path(&format!("photos/{}/{number}.png", ["dark", "light"][usize::from(class)]));
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        image::RgbImage::from_pixel(3, 2, image::Rgb([shade; 3])).save(file).expect("an image");
    }
    fs::write(path("table.csv"), table).expect("a file");
    fs::write(path("images.idx"), images).expect("a file");
    fs::write(path("labels.idx"), labels).expect("a file");

    let paths = ["table.csv", "images.idx", "labels.idx", "photos"].map(path);
    let printed = run("data_files", &paths.each_ref().map(|path| path.to_str().expect("UTF-8")));
    let expected = "csv: 24 samples of [2], right on 24\n\
                    idx: 24 samples of [2, 2], right on 24\n\
                    folder: 24 samples of [3, 2, 3], right on 24\n";
    assert_eq!(printed, expected);
}

#[test]
fn two_gpus_share_a_program() {
    let printed = run("two_gpus", &[]);
    assert!(printed.contains("`self` is on cuda:0, `other` on cuda:1"), "{printed}");
}

#[test]
fn replicas_train_one_model_on_all_gpus() {
    let printed = run("replicas", &[]);
    assert!(printed.contains("mean squared error"), "{printed}");
}

#[test]
fn out_of_memory_is_survived() {
    let printed = run("out_of_memory", &[]);
    assert!(printed.contains("it would do to release"), "{printed}");
    assert!(printed.contains("step 5"), "{printed}");
}

#[test]
fn a_kernel_of_ones_own_runs_on_tensors_with_its_gradient() {
    assert!(run("own_kernel", &[]).contains("dx = tensor("));
}

#[test]
fn a_transformer_learns_its_text_and_writes_on() {
    let printed = run("transformer", &["--device", "cpu", "--steps", "200"]);
    assert!(printed.contains("get very tired of sitting by her sister"), "{printed}");
}

#[test]
fn a_convolutional_network_tells_shapes_apart_that_it_has_not_seen() {
    let printed = run("cnn", &["--device", "cpu"]);
    let last = printed.lines().rfind(|line| line.starts_with("epoch")).expect("an epoch");
    let percent = last.split(", ").nth(1).and_then(|text| text.split(' ').next());
    let percent: f64 = percent.and_then(|text| text.parse().ok()).expect("a number");
    assert!(percent > 90.0, "{printed}");
}

#[test]
fn the_state_of_an_lstm_goes_on_from_chunk_to_chunk() {
    let printed = run("lstm", &["--device", "cpu", "--epochs", "12"]);
    let line = printed.lines().find(|line| line.starts_with("one step ahead")).expect("errors");
    let errors: Vec<f64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    assert!(errors[0] < 0.1 && errors[0] < 0.7 * errors[1], "{printed}");
}

#[test]
fn weights_that_pytorch_has_written_give_what_pytorch_gives() {
    for device in ["cpu", "cuda"] {
        let mut command = command("from_pytorch", &["--device", device]);
        let output = command.env("GPU_DRIVER", "software:1").output().expect("a process");
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{errors}");
        assert!(printed.contains("the scores on"), "{printed}");
    }
}

/// A few steps each: what they learn is tested on the CPU.
#[test]
fn networks_train_on_a_software_gpu() {
    let short: [(&str, &[&str]); 3] = [
        ("cnn", &["--epochs", "1", "--images", "64"]),
        ("lstm", &["--epochs", "1"]),
        ("transformer", &["--steps", "2", "--length", "4"]),
    ];
    for (example, arguments) in short {
        let mut command = command(example, &[arguments, &["--device", "cuda"]].concat());
        let output = command.env("GPU_DRIVER", "software:1").output().expect("a process");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{example}: {errors}");
    }
}

/// Kills the training after different times, which is in the midst of a step, of a checkpoint, or of
/// the start.
#[test]
fn a_training_that_is_killed_again_and_again_ends_bit_for_bit_as_one_that_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let last = |printed: &str| printed.lines().last().expect("the weights").to_owned();
    let whole = last(&run("resume", &[&path("whole")]));
    assert!(whole.starts_with("after 60 steps"), "{whole}");

    let path = path("killed");
    let mut kills = 0;
    let mut patience = Duration::from_millis(40);
    let printed = loop {
        match killed_after("resume", &[&path], patience) {
            Some(printed) => break printed,
            None => kills += 1,
        }
        // Longer each time, so that it comes to an end on a slow machine.
        patience = patience * 5 / 4;
    };
    assert!(kills > 0, "it ended before it could be killed");
    assert_eq!(last(&printed), whole, "killed {kills} times");
}

/// What an example printed, or `None` if it had to be killed after a time.
fn killed_after(example: &str, arguments: &[&str], patience: Duration) -> Option<String> {
    let mut child = command(example, arguments).stdout(Stdio::piped()).spawn().expect("a process");
    let begin = Instant::now();
    while begin.elapsed() < patience {
        if let Some(status) = child.try_wait().expect("a child") {
            assert!(status.success(), "{status}");
            let mut printed = String::new();
            child.stdout.take()?.read_to_string(&mut printed).expect("text");
            return Some(printed);
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it has ended");
    None
}

#[test]
fn models_are_saved_and_loaded() {
    let printed = run("save_and_load", &[]);
    assert!(printed.contains(r#"not in the file: ["head.weight", "head.bias"]"#), "{printed}");
}
