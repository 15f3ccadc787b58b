//! The table of character references is part of the fingerprint format: an update of html5gum must not change it
//! unnoticed.

use entities::ENTITIES;
use simhash::text::markup::text_of_html;

/// The standard says that its list of names will not change.
#[test]
fn references_match_the_standard() {
    assert_eq!(ENTITIES.len(), 2231);
    for entity in &ENTITIES {
        let mut text = String::new();
        text_of_html(entity.entity, &mut text, &|| ()).expect("memory suffices");
        assert_eq!(text, entity.characters, "{}", entity.entity);
    }
}
