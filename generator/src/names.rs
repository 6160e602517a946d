//! Names of people and firms. No two look alike as identifiers.

/// First names.
pub(crate) const FIRST: [&str; 40] = [
    "Ada", "Bram", "Carla", "Dario", "Edda", "Farid", "Greta", "Hugo", "Imani", "Jonas", "Kaya", "Leon", "Maren",
    "Nils", "Olga", "Pavel", "Quentin", "Rosa", "Samir", "Thea", "Ulf", "Vera", "Wanda", "Yusuf", "Zita", "Anton",
    "Bella", "Cem", "Dora", "Emil", "Freya", "Goran", "Hanna", "Ivo", "Judith", "Kofi", "Lena", "Milo", "Noor", "Otto",
];

/// Last names; the identifier of a person ends in one.
pub(crate) const LAST: [&str; 56] = [
    "Abara", "Bergh", "Castell", "Dufour", "Engel", "Fontane", "Gruber", "Hale", "Ibsen", "Jarvis", "Kamara", "Lund",
    "Marsh", "Novak", "Okafor", "Pereira", "Quist", "Rossi", "Silva", "Tanaka", "Ueda", "Varga", "Weber", "Xavier",
    "Yilmaz", "Zeller", "Amado", "Brandt", "Cooper", "Dahl", "Estrada", "Forsyth", "Goto", "Haddad", "Ivanova",
    "Jansen", "Kowal", "Laurent", "Mbeki", "Nguyen", "Osei", "Petrov", "Reyes", "Sato", "Thorne", "Urban", "Vidal",
    "Wong", "Yates", "Zhou", "Acker", "Bishop", "Carver", "Delgado", "Ekman", "Farouk",
];

/// Firms; the identifier of a firm ends in its first word.
pub(crate) const FIRMS: [&str; 30] = [
    "Arden Supplies",
    "Bluegate Traders",
    "Cobalt Works",
    "Dunmore Haulage",
    "Eastfield Foods",
    "Foxglove Interiors",
    "Granite Lane",
    "Harbour Freight",
    "Ironbridge Tools",
    "Juniper Living",
    "Kestrel Couriers",
    "Lakeside Events",
    "Meridian Goods",
    "Northway Express",
    "Orchard House",
    "Pinewood Crafts",
    "Quayside Stores",
    "Ridgeway Motors",
    "Saltmarsh Export",
    "Thistle Textiles",
    "Umber Ceramics",
    "Valley Growers",
    "Westgate Paper",
    "Yarrow Gardens",
    "Zephyr Cycles",
    "Amberley Glass",
    "Brook and Sons",
    "Crown Catering",
    "Dovecote Books",
    "Elmtree Homes",
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use parthack_env::names::skeleton;

    #[test]
    fn no_two_names_look_alike() {
        let distinct = |names: Vec<String>| {
            let skeletons: BTreeSet<String> = names.iter().map(|name| skeleton(name)).collect();
            assert_eq!(skeletons.len(), names.len());
        };
        distinct(super::LAST.iter().map(|name| name.to_lowercase()).collect());
        distinct(super::FIRST.iter().map(|name| name.to_lowercase()).collect());
        let first_word = |name: &&str| name.split(' ').next().unwrap_or_default().to_lowercase();
        distinct(super::FIRMS.iter().map(first_word).collect());
    }
}
