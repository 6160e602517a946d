//! Pieces of canonical JSON that are the same in every state and event of a task, spelled once.

use crate::canonical::{push_string, push_text_entry};
use crate::spec::TaskSpec;
use crate::task::{FieldIndex, SlotInfo};

/// The pieces of a task.
#[derive(Debug, Clone)]
pub(crate) struct Spelling {
    /// Of each type, its fields in canonical order with `"name":`.
    pub(crate) fields: Vec<Vec<(FieldIndex, Box<[u8]>)>>,
    /// Of each entity that can exist.
    pub(crate) slots: Vec<SlotSpelling>,
}

/// The pieces of an entity.
#[derive(Debug, Clone)]
pub(crate) struct SlotSpelling {
    /// `,"id":"…"`
    pub(crate) id: Box<[u8]>,
    /// `,"type":"…"}`
    pub(crate) entity_type: Box<[u8]>,
    /// Type, slash, id and a zero byte: what stands before the leaf in a state's hash.
    pub(crate) state_key: Box<[u8]>,
}

impl Spelling {
    pub(crate) fn of(spec: &TaskSpec, slots: &[SlotInfo], field_order: &[Vec<FieldIndex>]) -> Spelling {
        let fields = spec.entity_types.iter().zip(field_order).map(|(entity_type, order)| {
            let spell = |field: &FieldIndex| {
                let mut piece = Vec::new();
                push_string(&mut piece, &entity_type.fields[field.at()].name);
                piece.push(b':');
                (*field, piece.into_boxed_slice())
            };
            order.iter().map(spell).collect()
        });
        let slots = slots.iter().map(|slot| {
            let type_name = &spec.entity_types[slot.entity_type].name;
            let entry = |key: &str, text: &str| {
                let mut piece = Vec::new();
                push_text_entry(&mut piece, key, text);
                piece
            };
            let mut entity_type = entry("type", type_name);
            entity_type.push(b'}');
            let state_key = [type_name.as_bytes(), b"/", slot.id.as_bytes(), &[0]].concat();
            SlotSpelling {
                id: entry("id", &slot.id).into(),
                entity_type: entity_type.into(),
                state_key: state_key.into(),
            }
        });
        Spelling { fields: fields.collect(), slots: slots.collect() }
    }
}
