"""Packages of a release of Debian, which apt downloads from the machine's mirror, or from DEBIAN_MIRROR."""

import os
import re
import subprocess


class Apt:
    """The packages of a release. apt works in a folder of its own, and changes nothing of the machine."""

    def __init__(self, release, folder):
        list_mirrors = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Label: Debian"]
        mirror = os.environ.get("DEBIAN_MIRROR") or subprocess.run(
            list_mirrors, check=True, capture_output=True, text=True).stdout.split()[0]
        for name in "state/lists/partial", "cache/archives/partial":
            (folder / name).mkdir(parents=True)
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        (folder / "sources.list").write_text(f"deb [signed-by={keys}] {mirror} {release} main\n")
        # Old releases have expired indexes. root unpacks in a directory that the user _apt may not enter.
        options = (
            f"Dir::State={folder}/state", "Dir::State::status=/dev/null", f"Dir::Cache={folder}/cache",
            f"Dir::Etc::sourcelist={folder}/sources.list", "Dir::Etc::sourceparts=-",
            "Acquire::Check-Valid-Until=false", "Acquire::Languages=en", "APT::Sandbox::User=root",
        )
        self.options = [f"--option={option}" for option in options]
        self.run("apt-get", "--quiet=2", "update")

    def run(self, command, *arguments, **options):
        return subprocess.run([command, *self.options, *arguments], check=True, **options)

    def ask_cache(self, *arguments):
        """What apt-cache prints."""
        return self.run("apt-cache", *arguments, capture_output=True, text=True).stdout

    def standard_packages(self, max_bytes):
        """The names of the packages of priority standard or above, up to this size."""
        packages = []
        for entry in self.ask_cache("dumpavail").split("\n\n"):
            fields = dict(re.findall(r"^(Package|Priority|Size): (.*)$", entry, re.MULTILINE))
            is_standard = fields.get("Priority") in ("required", "important", "standard")
            if is_standard and int(fields["Size"]) <= max_bytes:
                packages.append(fields["Package"])
        return packages

    def descriptions(self, is_taken):
        """Yields the names of the packages that are taken by their names, and their descriptions."""
        names = sorted(filter(is_taken, self.ask_cache("pkgnames").split()))
        for entry in self.ask_cache("show", "--no-all-versions", *names).split("\n\n"):
            package = re.search(r"^Package: (.*)$", entry, re.MULTILINE)
            description = re.search(r"^Description-en: (.*(\n .*)*)", entry, re.MULTILINE)
            if package and description:
                yield package[1], re.sub(r"\n \.?", "\n", description[1])

    def download(self, folder, packages):
        """Downloads packages, and unpacks them into a folder."""
        folder.mkdir()
        self.run("apt-get", "--quiet=2", "download", *packages, cwd=folder)
        for package in folder.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", package, folder], check=True)
            package.unlink()
