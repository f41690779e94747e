//! Builds response bodies of command receipts.

use wh_core::receipt::{Receipt, ReceiptStage};
use wh_core::time::iso;
use wh_wire::control::{ReachedBody, ReceiptBody};

fn stage_name(stage: &ReceiptStage) -> &'static str {
    match stage {
        ReceiptStage::Accepted => "accepted",
        ReceiptStage::Delivered => "delivered",
        ReceiptStage::Submitted => "submitted",
        ReceiptStage::Started => "started",
        ReceiptStage::Finished => "finished",
        ReceiptStage::Failed(_) => "failed",
    }
}

pub(crate) fn receipt_body(receipt: &Receipt) -> ReceiptBody {
    let reached = |(stage, at): &(ReceiptStage, std::time::SystemTime)| ReachedBody {
        stage: stage_name(stage).to_owned(),
        at: iso(*at),
    };
    let failure = if let ReceiptStage::Failed(failure) = &receipt.stage { Some(failure) } else { None };
    ReceiptBody {
        request_id: receipt.request_id.as_str().to_owned(),
        stage: stage_name(&receipt.stage).to_owned(),
        code: failure.map(|failure| failure.reason.code().to_owned()),
        reason: failure.map(|failure| failure.message.clone()),
        warning: receipt.warning.clone(),
        message: receipt.item.as_ref().map(ToString::to_string),
        turn: receipt.turn.as_ref().map(ToString::to_string),
        reached: receipt.reached.iter().map(reached).collect(),
    }
}
