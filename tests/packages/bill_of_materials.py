"""The bill of materials names every crate whose licence is in LICENSE.third-party (standard input), and each component
has a version, a licence and, if it is not the project's own, a checksum and its origin.

Usage: bill_of_materials.py FILE.cdx.json
"""

import json
import re
import sys
from pathlib import Path


def main():
    bill = json.loads(Path(sys.argv[1]).read_text())
    components = bill["components"]
    named = {(component["name"], component["version"]) for component in components}
    licensed = set(re.findall(r"^(\S+) (\d\S*) \(.*\)$", sys.stdin.read(), re.MULTILINE))
    incomplete = [component["name"] for component in components
                  if not component.get("licenses") or "file:" not in component["purl"] and not component.get("hashes")]
    print(f"{bill['specVersion']}: {len(named)} components, {len(licensed)} with licences; missing: "
          f"{sorted(licensed - named)}; incomplete: {incomplete}")
    sys.exit(bool(incomplete or not licensed or licensed - named))


main()
