"""Checks the itinerary that the agent wrote."""
import json
import os

PLAN_FILE = "/app/output/itinerary.json"
MEAL_SLOTS = ["breakfast", "lunch", "dinner"]
OHIO_PLACES = {"cleveland", "columbus", "cincinnati", "toledo", "dayton", "akron"}


def read_plan():
    with open(PLAN_FILE, encoding="utf-8") as source:
        return json.load(source)


def plan_days():
    return read_plan()["plan"]


def mentioned_places(days):
    seen = set()
    for day in days:
        lowered = day["current_city"].lower()
        seen.update(place for place in OHIO_PLACES if place in lowered)
    return seen


def test_plan_file_exists():
    assert os.path.exists(PLAN_FILE), "the itinerary was not produced"


def test_plan_structure_and_length():
    content = read_plan()
    assert isinstance(content["plan"], list)
    assert len(content["plan"]) == 7


def test_plan_required_fields_and_days():
    required = {"day", "current_city", "transportation", "attraction", "accommodation", *MEAL_SLOTS}
    for number, entry in enumerate(plan_days(), start=1):
        assert required <= entry.keys()
        assert entry["day"] == number


def test_no_flights_in_transportation():
    for entry in plan_days():
        assert "flight" not in entry["transportation"].lower()


def test_starts_in_minneapolis():
    assert "minneapolis" in plan_days()[0]["current_city"].lower()


def test_visits_at_least_three_cities():
    assert len(mentioned_places(plan_days())) >= 3


def test_visits_ohio_cities():
    assert mentioned_places(plan_days())


def test_pet_friendly_accommodation_hint():
    """At least one night must name lodging where animals are welcome."""
    hints = ("pet", "dog", "cat")
    assert any(hint in entry["accommodation"].lower() for entry in plan_days() for hint in hints)


def test_meals_include_requested_cuisines():
    eaten = " ".join(entry[slot].lower() for entry in plan_days() for slot in MEAL_SLOTS)
    found = [cuisine for cuisine in ("american", "mediterranean", "chinese", "italian") if cuisine in eaten]
    assert len(found) >= 2


def test_attractions_non_empty():
    assert sum(1 for entry in plan_days() if entry["attraction"].strip("; -")) >= 5


def test_tool_calls_present():
    assert read_plan()["tool_called"]
