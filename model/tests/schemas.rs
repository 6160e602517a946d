//! The small validator says what the full one says.

use parthack_model::schema;
use proptest::prelude::*;
use serde_json::{Value, json};

/// Small values that meet the schemas below now and then.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..4).prop_map(Value::from),
        (-4_i32..8).prop_map(|half| json!(f64::from(half) / 2.0)),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]", inner, 0..4).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec!["object", "array", "string", "number", "integer", "boolean", "null"])
}

/// Schemas of the subset.
fn form() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        name().prop_map(|name| json!({"type": name})),
        (name(), name()).prop_filter("types differ", |(a, b)| a != b).prop_map(|(a, b)| json!({"type": [a, b]})),
        prop::collection::vec(value(), 1..4).prop_map(|values| json!({"enum": values})),
        value().prop_map(|value| json!({"const": value})),
        (0_u8..3, 0_u8..3).prop_map(|(least, most)| json!({"minLength": least, "maxLength": most})),
        (0_u8..3, 0_u8..3).prop_map(|(least, most)| json!({"minItems": least, "maxItems": most})),
        any::<bool>().prop_map(|unique| json!({"uniqueItems": unique})),
        (-4_i32..8, any::<bool>()).prop_map(|(half, least)| {
            json!({if least { "minimum" } else { "exclusiveMaximum" }: f64::from(half) / 2.0})
        }),
        (-2_i64..4, any::<bool>())
            .prop_map(|(bound, most)| json!({if most { "maximum" } else { "exclusiveMinimum" }: bound})),
        prop::sample::select(vec!["^a", "b$", "^[ab]+$", "c"]).prop_map(|pattern| json!({"pattern": pattern})),
    ];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(|forms| json!({"anyOf": forms})),
            inner.clone().prop_map(|form| json!({"items": form})),
            (
                prop::collection::btree_map("[a-c]", inner, 0..3),
                prop::collection::btree_set("[a-c]", 0..2),
                any::<bool>()
            )
                .prop_map(|(properties, required, open)| {
                    json!({"properties": properties, "required": required, "additionalProperties": open})
                }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn the_two_validators_agree(form in form(), value in value()) {
        prop_assert_eq!(schema::check(&form), Ok(()));
        let expected = jsonschema::validator_for(&form).expect("a schema").is_valid(&value);
        prop_assert_eq!(schema::validate(&form, &value).is_ok(), expected, "{} {}", form, value);
    }
}

#[test]
fn keywords_outside_the_subset_are_errors() {
    for (form, place) in [
        (json!({"multipleOf": 2}), "/multipleOf"),
        (json!({"$ref": "#"}), "/$ref"),
        (json!({"items": {"format": "date"}}), "/items/format"),
        (json!({"properties": {"a": {"oneOf": []}}}), "/properties/a/oneOf"),
        (json!({"anyOf": [{}, {"not": {}}]}), "/anyOf/1/not"),
        (json!({"type": "float"}), "/type"),
        (json!({"pattern": "("}), "/pattern"),
        (json!({"additionalProperties": {}}), "/additionalProperties"),
        (json!(true), "/"),
    ] {
        let error = schema::check(&form).expect_err("outside");
        assert!(error.starts_with(&format!("schema {place}:")), "{error}");
    }
}
