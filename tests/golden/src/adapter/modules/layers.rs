//! Layers with parameters.

use super::module_row::{ModuleRow, module, one, two};

/// A normalisation of channels, with the arguments of PyTorch's constructor.
macro_rules! channel_norm {
    ($name:literal, $signature:literal, $layer:ident) => {
        module($name, $signature, |c| {
            let layer = nn::$layer::new(c.get("num_features")?)?.with_eps(c.get("eps")?);
            let layer = layer.with_momentum(c.get::<Option<f64>>("momentum")?);
            let layer = match (c.get("affine")?, c.get("bias")?) {
                (true, true) => layer.with_affine(())?,
                (true, false) => layer.with_affine(())?.without_bias(),
                (false, _) => layer.without_affine(),
            };
            one(match c.get("track_running_stats")? {
                true => layer.with_running_stats(())?,
                false => layer.without_running_stats(),
            })
        })
    };
}

macro_rules! batch_norm {
    ($name:literal, $layer:ident) => {
        channel_norm!(
            $name,
            "num_features, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True, *, bias=True",
            $layer
        )
    };
}

macro_rules! instance_norm {
    ($name:literal, $layer:ident) => {
        channel_norm!(
            $name,
            "num_features, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False, *, bias=True",
            $layer
        )
    };
}

pub(super) static ROWS: &[ModuleRow] = &[
    module("nn.Linear", "in_features, out_features, bias=True", |c| {
        let layer = nn::Linear::new(c.get("in_features")?, c.get("out_features")?)?;
        one(if c.get("bias")? { layer } else { layer.without_bias() })
    }),
    module("nn.Bilinear", "in1_features, in2_features, out_features, bias=True", |c| {
        let (first, second) = (c.get("in1_features")?, c.get("in2_features")?);
        let layer = nn::Bilinear::new(first, second, c.get("out_features")?)?;
        two(if c.get("bias")? { layer } else { layer.without_bias() })
    }),
    module("nn.Embedding", "num_embeddings, embedding_dim", |c| {
        one(nn::Embedding::new(c.get("num_embeddings")?, c.get("embedding_dim")?)?)
    }),
    module("nn.Flatten", "", |_| one(nn::Flatten)),
    module(
        "nn.LayerNorm",
        "normalized_shape, eps=1e-05, elementwise_affine=True, bias=True",
        |c| {
            let layer = nn::LayerNorm::new(c.get::<Vec<usize>>("normalized_shape")?)?;
            let layer = layer.with_eps(c.get("eps")?);
            one(match (c.get("elementwise_affine")?, c.get("bias")?) {
                (false, _) => layer.without_affine(),
                (true, false) => layer.without_bias(),
                (true, true) => layer,
            })
        },
    ),
    module("nn.RMSNorm", "normalized_shape, eps=None, elementwise_affine=True", |c| {
        let layer = nn::RMSNorm::new(c.get::<Vec<usize>>("normalized_shape")?)?;
        let layer = layer.with_eps(c.get::<Option<f64>>("eps")?);
        one(if c.get("elementwise_affine")? { layer } else { layer.without_affine() })
    }),
    module("nn.LocalResponseNorm", "size, alpha=0.0001, beta=0.75, k=1.0", |c| {
        let (alpha, beta) = (c.get("alpha")?, c.get("beta")?);
        one(nn::LocalResponseNorm::new(c.get("size")?).alpha(alpha).beta(beta).k(c.get("k")?))
    }),
    module("nn.GroupNorm", "num_groups, num_channels, eps=1e-05, affine=True, *, bias=True", |c| {
        let layer = nn::GroupNorm::new(c.get("num_groups")?, c.get("num_channels")?)?;
        let layer = layer.with_eps(c.get("eps")?);
        one(match (c.get("affine")?, c.get("bias")?) {
            (false, _) => layer.without_affine(),
            (true, false) => layer.without_bias(),
            (true, true) => layer,
        })
    }),
    batch_norm!("nn.BatchNorm1d", BatchNorm1d),
    batch_norm!("nn.BatchNorm2d", BatchNorm2d),
    batch_norm!("nn.BatchNorm3d", BatchNorm3d),
    instance_norm!("nn.InstanceNorm1d", InstanceNorm1d),
    instance_norm!("nn.InstanceNorm2d", InstanceNorm2d),
    instance_norm!("nn.InstanceNorm3d", InstanceNorm3d),
];
