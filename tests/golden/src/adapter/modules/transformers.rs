//! Attention with several heads, and transformers, whose masks are given by keywords.

use nn::{
    AttentionMasks, AttentionWeights, Module, MultiheadAttention, MultiheadOptions, Transformer,
    TransformerActivation, TransformerDecoderLayer, TransformerEncoderLayer, TransformerMasks,
    TransformerOptions,
};
use tensor::{DType, Device, Tensor};

use super::super::signature::OperationSignature;
use super::module_row::{BoundCall, BuiltModule, ExamModule, ModuleRow, module};
use crate::argument::CaseArgument;
use crate::failure::CaseFailure;

pub(super) static ROWS: &[ModuleRow] = &[
    module(
        "nn.MultiheadAttention",
        "embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None, vdim=None, batch_first=False",
        |c| {
            let options = MultiheadOptions::new()
                .dropout(c.get("dropout")?)
                .bias(c.get("bias")?)
                .add_bias_kv(c.get("add_bias_kv")?)
                .add_zero_attn(c.get("add_zero_attn")?)
                .kdim(c.get::<Option<usize>>("kdim")?)
                .vdim(c.get::<Option<usize>>("vdim")?)
                .batch_first(c.get("batch_first")?);
            let module =
                MultiheadAttention::new(c.get("embed_dim")?, c.get("num_heads")?, options)?;
            let signature = "query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True";
            keywords(c, module, signature, attend)
        },
    ),
    module("nn.TransformerEncoderLayer", LAYER, |c| {
        let (d_model, nhead) = (c.get("d_model")?, c.get("nhead")?);
        let module = TransformerEncoderLayer::new(d_model, nhead, options(c)?)?;
        let signature = "src, src_mask=None, src_key_padding_mask=None";
        keywords(c, module, signature, |module, c| {
            let masks = masks(c, "src_mask", "src_key_padding_mask")?;
            Ok(vec![module.encode(c.get("src")?, &masks)?])
        })
    }),
    module("nn.TransformerDecoderLayer", LAYER, |c| {
        let (d_model, nhead) = (c.get("d_model")?, c.get("nhead")?);
        let module = TransformerDecoderLayer::new(d_model, nhead, options(c)?)?;
        let signature = "tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None";
        keywords(c, module, signature, |module, c| {
            let tgt = masks(c, "tgt_mask", "tgt_key_padding_mask")?;
            let memory = masks(c, "memory_mask", "memory_key_padding_mask")?;
            Ok(vec![module.decode([c.get("tgt")?, c.get("memory")?], &tgt, &memory)?])
        })
    }),
    module(
        "nn.Transformer",
        "d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-05, batch_first=False, norm_first=False, bias=True",
        |c| {
            let layers = [c.get("num_encoder_layers")?, c.get("num_decoder_layers")?];
            let module = Transformer::new(c.get("d_model")?, c.get("nhead")?, layers, options(c)?)?;
            let signature = "src, tgt, src_mask=None, tgt_mask=None, memory_mask=None, src_key_padding_mask=None, tgt_key_padding_mask=None, memory_key_padding_mask=None";
            keywords(c, module, signature, |module, c| {
                let masks = TransformerMasks {
                    src: masks(c, "src_mask", "src_key_padding_mask")?,
                    tgt: masks(c, "tgt_mask", "tgt_key_padding_mask")?,
                    memory: masks(c, "memory_mask", "memory_key_padding_mask")?,
                };
                Ok(vec![module.transform(c.get("src")?, c.get("tgt")?, &masks)?])
            })
        },
    ),
];

const LAYER: &str = "d_model, nhead, dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-05, batch_first=False, norm_first=False, bias=True";

fn options(c: &BoundCall) -> Result<TransformerOptions, CaseFailure> {
    let activation = match c.get("activation")? {
        "relu" => TransformerActivation::ReLU,
        "gelu" => TransformerActivation::GELU,
        name => return Err(CaseFailure::Unsupported(format!("the activation {name}"))),
    };
    Ok(TransformerOptions::new()
        .dim_feedforward(c.get("dim_feedforward")?)
        .dropout(c.get("dropout")?)
        .activation(activation)
        .layer_norm_eps(c.get("layer_norm_eps")?)
        .batch_first(c.get("batch_first")?)
        .norm_first(c.get("norm_first")?)
        .bias(c.get("bias")?))
}

fn masks(c: &BoundCall, mask: &str, padding: &str) -> Result<AttentionMasks, CaseFailure> {
    let given = |name| Ok::<_, CaseFailure>(c.get::<Option<&Tensor>>(name)?.cloned());
    Ok(AttentionMasks::new().attn_mask(given(mask)?).key_padding_mask(given(padding)?))
}

fn attend(module: &MultiheadAttention, c: &BoundCall) -> Result<Vec<Tensor>, CaseFailure> {
    let masks = masks(c, "attn_mask", "key_padding_mask")?;
    let weights = match (c.get("need_weights")?, c.get("average_attn_weights")?) {
        (false, _) => AttentionWeights::None,
        (true, true) => AttentionWeights::Averaged,
        (true, false) => AttentionWeights::OfHeads,
    };
    let inputs = [c.get("query")?, c.get("key")?, c.get("value")?];
    let (output, weights) = module.attend(inputs, &masks, weights)?;
    Ok([output].into_iter().chain(weights).collect())
}

/// A module that is called with keywords.
struct KeywordModule<M> {
    module: M,
    device: Device,
    signature: &'static str,
    call: fn(&M, &BoundCall) -> Result<Vec<Tensor>, CaseFailure>,
}

fn keywords<M: Module>(
    c: &BoundCall,
    module: M,
    signature: &'static str,
    call: fn(&M, &BoundCall) -> Result<Vec<Tensor>, CaseFailure>,
) -> BuiltModule {
    Ok(Box::new(KeywordModule { module, device: c.device, signature, call }))
}

impl<M: Module> ExamModule for KeywordModule<M> {
    fn module(&mut self) -> &mut dyn Module {
        &mut self.module
    }

    fn to(&mut self, device: Device, dtype: DType) -> tensor::Result<()> {
        self.module.to((device, dtype))
    }

    fn call(
        &self,
        inputs: &[CaseArgument],
        keywords: &[(String, CaseArgument)],
    ) -> Result<Vec<Tensor>, CaseFailure> {
        let arguments = OperationSignature::parse(self.signature).bind(inputs, keywords);
        let arguments = arguments.map_err(CaseFailure::Unsupported)?;
        (self.call)(&self.module, &BoundCall { device: self.device, arguments })
    }
}
