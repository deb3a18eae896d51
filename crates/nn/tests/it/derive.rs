//! What `#[derive(Module)]` makes of fields, beside PyTorch's modules of the same parts.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use nn::{
    Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d, Dropout, Embedding,
    Flatten, Forward, GELU, LayerNorm, Linear, Member, Module, ReLU, Result, Sequential,
    sequential,
};
use serde_json::Value;
use tensor::{ConvOptions, ConvPadding, ConvTransposeOptions, DType, Tensor};

const EXPECTED: &str = include_str!("../expected/modules.json");

type AnyLayer = Box<dyn Forward<Tensor, Output = Tensor>>;

#[derive(Module)]
struct Net {
    fc: Linear,
    scale: Tensor,
    #[module(buffer)]
    running_mean: Tensor,
    layers: Vec<Linear>,
    #[module(rename = "heads")]
    by_task: BTreeMap<String, AnyLayer>,
    missing: Option<Linear>,
    #[module(training)]
    training: bool,
    #[module(skip)]
    _called: fn(),
}

impl Net {
    fn new() -> Result<Net> {
        let tail = sequential![ReLU, Dropout::new(0.5)?];
        let heads: [(&str, AnyLayer); 2] =
            [("a", Box::new(Linear::new(3, 2)?)), ("b", Box::new(tail))];
        Ok(Net {
            fc: Linear::new(4, 3)?,
            scale: Tensor::ones([3], ())?.requires_grad_(true)?,
            running_mean: Tensor::zeros([3], ())?,
            layers: vec![Linear::new(3, 3)?, Linear::new(3, 3)?, Linear::new(3, 3)?.without_bias()],
            by_task: heads.map(|(name, head)| (name.to_owned(), head)).into(),
            missing: None,
            training: true,
            _called: || (),
        })
    }
}

#[derive(Module)]
struct Scaled {
    kernel_size: [usize; 2],
    eps: f64,
    groups: u8,
    affine: bool,
    padding: Vec<usize>,
    bound: Option<f32>,
}

#[derive(Module)]
struct Wrapper<M> {
    p: f64,
    inner: M,
}

#[derive(Module)]
struct Tied {
    encoder: Linear,
    decoder: Linear,
}

#[derive(Module)]
struct Pair<A, B: Clone>(A, #[module(rename = "second")] Option<B>, PhantomData<fn(A)>);

#[derive(Module)]
struct Nothing;

#[derive(Module)]
struct Mixed {
    pair: (Linear, ReLU),
    norm: Norm<LayerNorm>,
    #[module(buffer)]
    mean: Tensor,
    #[module(buffer, persistent = false)]
    mask: Tensor,
}

#[derive(Clone, Module)]
enum Norm<L> {
    /// It is that module.
    Layer(L),
    Scale {
        by: Tensor,
        eps: f64,
        #[module(skip)]
        _unused: [fn(); 1],
    },
    Identity,
}

fn mixed(norm: Norm<LayerNorm>) -> Result<Mixed> {
    let (mean, mask) = (Tensor::zeros([3], ())?, Tensor::ones([3], ())?);
    Ok(Mixed { pair: (Linear::new(2, 3)?, ReLU), norm, mean, mask })
}

fn scale() -> Result<Norm<LayerNorm>> {
    let by = Tensor::ones([3], ())?.requires_grad_(true)?;
    Ok(Norm::Scale { by, eps: 0.5, _unused: [|| ()] })
}

fn tied() -> Result<Tied> {
    let encoder = Linear::new(3, 3)?;
    let bias = Tensor::zeros([3], ())?.requires_grad_(true)?;
    let decoder = Linear::from_parameters(encoder.weight().clone(), Some(bias))?;
    Ok(Tied { encoder, decoder })
}

/// The modules of `expected/modules.py`, by their names there.
fn modules() -> Result<Vec<(&'static str, Box<dyn Module>)>> {
    let perceptron = sequential![Linear::new(784, 512)?, ReLU, Linear::new(512, 10)?];
    let nested = sequential![sequential![Linear::new(2, 2)?], Flatten];
    let scaled = Scaled {
        kernel_size: [3, 3],
        eps: 1e-5,
        groups: 1,
        affine: true,
        padding: vec![1],
        bound: None,
    };
    let inner = sequential![Flatten, Linear::new(2, 2)?];
    let conv = ConvOptions::new().stride([2, 1]).padding(1).dilation(2).groups(2);
    let same = ConvOptions::new().padding(ConvPadding::Same);
    let transposed = ConvTransposeOptions::new().stride(2).padding(1).output_padding(1);
    let transposed = transposed.groups(2).dilation([1, 2]);
    Ok(vec![
        ("linear", Box::new(Linear::new(784, 512)?)),
        ("linear_without_bias", Box::new(Linear::new(3, 2)?.without_bias())),
        ("relu", Box::new(ReLU)),
        ("dropout", Box::new(Dropout::new(0.25)?)),
        ("flatten", Box::new(Flatten)),
        ("gelu", Box::new(GELU)),
        ("layer_norm", Box::new(LayerNorm::new([4, 3])?)),
        ("layer_norm_of_a_vector", Box::new(LayerNorm::new([4])?)),
        ("embedding", Box::new(Embedding::new(10, 3)?)),
        ("conv1d", Box::new(Conv1d::new(2, 4, 3, ())?)),
        ("conv2d", Box::new(Conv2d::new(4, 6, [3, 5], conv)?.without_bias())),
        ("conv2d_same", Box::new(Conv2d::new(1, 8, 3, same)?)),
        ("conv3d", Box::new(Conv3d::new(1, 2, 3, ConvOptions::new().padding([0, 1, 0]))?)),
        ("conv_transpose1d", Box::new(ConvTranspose1d::new(2, 4, 3, ())?)),
        ("conv_transpose2d", Box::new(ConvTranspose2d::new(4, 6, 3, transposed)?)),
        ("conv_transpose3d", Box::new(ConvTranspose3d::new(1, 2, 2, ())?.without_bias())),
        ("sequential", Box::new(perceptron)),
        ("empty", Box::new(Sequential::new())),
        ("nested", Box::new(nested)),
        ("net", Box::new(Net::new()?)),
        ("scaled", Box::new(scaled)),
        ("wrapper", Box::new(Wrapper { p: 0.25, inner })),
        ("tied", Box::new(tied()?)),
        ("mixed_norm", Box::new(mixed(Norm::Layer(LayerNorm::new([3])?))?)),
        ("mixed_scale", Box::new(mixed(scale()?)?)),
        ("mixed_identity", Box::new(mixed(Norm::Identity)?)),
    ])
}

#[test]
fn printed_forms_and_names_are_pytorchs() -> Result<()> {
    let expected: Value = serde_json::from_str(EXPECTED).expect("the expected values are JSON");
    let expected = expected["modules"].as_object().expect("modules by name");
    let modules = modules()?;
    assert_eq!(modules.len(), expected.len());
    for (name, module) in modules {
        let expected = &expected[name];
        let names = |list: &str| -> Vec<&str> {
            let list = expected[list].as_array().expect("a list");
            list.iter().map(|name| name.as_str().expect("a name")).collect()
        };
        assert_eq!(module.as_module().to_string(), expected["printed"].as_str().unwrap(), "{name}");
        let named = |found: Vec<(String, Tensor)>| -> Vec<String> {
            found.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(named(module.named_parameters()), names("parameters"), "{name}");
        assert_eq!(named(module.named_buffers()), names("buffers"), "{name}");
        let inside: Vec<_> = module.named_modules().into_iter().map(|(name, _)| name).collect();
        assert_eq!(inside, names("modules"), "{name}");
        let state: Vec<_> = module.state_dict().into_keys().collect();
        assert_eq!(state, names("state"), "{name}");
    }
    Ok(())
}

#[test]
fn derived_modules_display_themselves() -> Result<()> {
    let linear = Linear::new(2, 2)?;
    let pair = Pair(linear, Some(Nothing2), PhantomData);
    assert_eq!(
        pair.to_string(),
        "Pair(\n  (0): Linear(in_features=2, out_features=2, bias=True)\n  (second): Nothing2()\n)"
    );
    assert_eq!(Nothing.to_string(), "Nothing()");
    assert_eq!(format!("{:?}", sequential![ReLU]), "Sequential(\n  (0): ReLU()\n)");
    Ok(())
}

#[derive(Clone, Module)]
struct Nothing2;

#[test]
fn an_enum_is_the_module_of_its_variant() -> Result<()> {
    let mut norm = Norm::Layer(LayerNorm::new([3])?);
    assert_eq!(norm.to_string(), "LayerNorm((3,), eps=1e-05, elementwise_affine=True, bias=True)");
    assert!(norm.named_modules()[0].1.is::<LayerNorm>());
    let state: Vec<_> = norm.state_dict().into_keys().collect();
    assert_eq!(state, ["bias", "weight"]);
    norm.to(DType::F64)?;
    assert!(norm.parameters().iter().all(|parameter| parameter.dtype() == DType::F64));
    let Norm::Layer(layer) = &norm else { panic!("it stays the same variant") };
    assert_eq!(layer.parameters().len(), 2);
    let mut scale = scale()?;
    assert_eq!(scale.to_string(), "Scale(eps=0.5)");
    scale.to(DType::F64)?;
    let Norm::Scale { by, eps, .. } = &scale else { panic!("it stays the same variant") };
    assert_eq!((by.dtype(), *eps), (DType::F64, 0.5));
    assert_eq!(Norm::<LayerNorm>::Identity.to_string(), "Identity()");
    Ok(())
}

#[test]
fn buffers_that_are_not_persistent_move_and_are_not_saved() -> Result<()> {
    let mut module = mixed(Norm::Identity)?;
    module.to(DType::F64)?;
    assert_eq!((module.mean.dtype(), module.mask.dtype()), (DType::F64, DType::F64));
    assert_eq!(module.buffers().len(), 2);
    let state = mixed(Norm::Identity)?.state_dict();
    assert!(!state.contains_key("mask"));
    module.load_state_dict(&state).expect("the mask is not missing");
    Ok(())
}

#[test]
fn training_is_switched_in_all_modules_inside() -> Result<()> {
    let is_training = |net: &Net| {
        let mut flags = Vec::new();
        for (_, module) in net.named_modules() {
            module.visit(&mut |_, member| {
                if let Member::Training(flag) = member {
                    flags.push(flag);
                }
            });
        }
        flags
    };
    let mut net = Net::new()?;
    assert_eq!(is_training(&net), [true, true]);
    net.eval();
    assert!(!net.is_training() && !net.training);
    assert_eq!(is_training(&net), [false, false]);
    net.train();
    assert!(net.is_training() && net.training);
    assert!(!Linear::new(1, 1)?.is_training(), "it is the same in both");
    Ok(())
}

#[test]
fn apply_reaches_every_module_inside_before_the_one_around_it() -> Result<()> {
    let mut net = Net::new()?;
    let mut names = Vec::new();
    net.apply(&mut |module| {
        names.push(module.type_name());
        if let Some(linear) = module.downcast_mut::<Linear>() {
            tensor::no_grad(|| linear.weight().fill_(0.25))?;
        }
        Ok(())
    })?;
    let expected =
        "Linear Linear Linear Linear ModuleList Linear ReLU Dropout Sequential ModuleDict Net";
    assert_eq!(names.join(" "), expected);
    assert_eq!(net.fc.weight().to_vec::<f32>()?, [0.25; 12]);
    Ok(())
}

#[test]
fn modules_of_unknown_type_are_modules() -> Result<()> {
    let mut layers: Vec<AnyLayer> = vec![Box::new(Linear::new(3, 2)?), Box::new(ReLU)];
    let output = layers.iter().try_fold(Tensor::ones([1, 3], ())?, |x, layer| layer.forward(&x))?;
    assert_eq!(output.shape(), [1, 2]);
    layers[0].to(DType::F64)?;
    assert!(layers[0].parameters().iter().all(|p| p.dtype() == DType::F64));
    layers.to(DType::F16)?;
    let module: &mut dyn Module = &mut layers;
    assert!(module.parameters().iter().all(|p| p.dtype() == DType::F16));
    let (_, first) = &layers.named_children()[0];
    assert!(first.is::<Linear>() && first.downcast_ref::<ReLU>().is_none());
    Ok(())
}

struct Query {
    keys: Tensor,
    scale: f64,
}

impl Forward<Query> for Tied {
    type Output = (Tensor, f64);

    fn forward(&self, Query { keys, scale }: &Query) -> Result<(Tensor, f64)> {
        Ok((self.encoder.forward(keys)?.mul(*scale)?, *scale))
    }
}

impl Forward<(Tensor, Tensor)> for Tied {
    type Output = Tensor;

    fn forward(&self, (left, right): &(Tensor, Tensor)) -> Result<Tensor> {
        self.encoder.forward(left)? + self.decoder.forward(right)?
    }
}

#[test]
fn inputs_and_outputs_are_of_any_type() -> Result<()> {
    let (module, x) = (tied()?, Tensor::ones([2, 3], ())?);
    assert_eq!(module.forward(&(x.clone(), x.clone()))?.shape(), [2, 3]);
    let (output, scale) = module.forward(&Query { keys: x, scale: 2.0 })?;
    assert_eq!((output.shape(), scale), (&[2, 3][..], 2.0));
    Ok(())
}

#[test]
fn frozen_modules_get_no_gradients() -> Result<()> {
    let net = tied()?;
    net.requires_grad_(false)?;
    assert!(net.parameters().iter().all(|p| !p.requires_grad()));
    net.decoder.requires_grad_(true)?;
    let x = Tensor::ones([2, 3], ())?;
    net.forward(&(x.clone(), x))?.sum(())?.backward()?;
    let bias = |layer: &Linear| layer.bias().and_then(Tensor::grad).is_some();
    assert!(bias(&net.decoder) && !bias(&net.encoder));
    net.zero_grad();
    assert!(net.parameters().iter().all(|p| p.grad().is_none()));
    Ok(())
}
