# ruff: noqa: INP001 - a program, and no part of a package
"""Packs the extension that was built into a `.vsix`: a zip with two files of its own about what is in it.

Not by `vsce`, which would bring 200 packages for that. The same sources give the same bytes.
"""

import json
import sys
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
BRIDGE = ROOT / "src" / "binnacle" / "bridge"
FILES = {
    "package.json": HERE / "package.json",
    "readme.md": HERE / "README.md",
    "LICENSE.txt": ROOT / "LICENSE",
    "dist/extension.js": HERE / "dist" / "extension.js",
    "dist/manifest.json": BRIDGE / "scripts" / "manifest.json",
    "dist/fast_debugpy.py": BRIDGE / "debug" / "fast_debugpy.py",
    "dist/in_program/binnacle_stop_at_failures.py": BRIDGE / "debug" / "in_program" / "binnacle_stop_at_failures.py",
}
"""What is in the extension, and where it comes from."""

TYPES = """<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">
<Default Extension=".json" ContentType="application/json"/>
<Default Extension=".js" ContentType="application/javascript"/>
<Default Extension=".py" ContentType="text/x-python"/>
<Default Extension=".md" ContentType="text/markdown"/>
<Default Extension=".txt" ContentType="text/plain"/>
<Default Extension=".vsixmanifest" ContentType="text/xml"/>
</Types>
"""

MANIFEST = """<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
<Metadata>
<Identity Language="en-US" Id={id} Version={version} Publisher={publisher}/>
<DisplayName>{name}</DisplayName>
<Description>{description}</Description>
<Properties>
<Property Id="Microsoft.VisualStudio.Code.Engine" Value={engine}/>
<Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
</Properties>
<License>extension/LICENSE.txt</License>
</Metadata>
<Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
<Dependencies/>
<Assets>
<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
<Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/readme.md" Addressable="true"/>
</Assets>
</PackageManifest>
"""


def pack(target: Path) -> None:
    about = json.loads((HERE / "package.json").read_text())
    manifest = MANIFEST.format(
        id=quoteattr(about["name"]),
        version=quoteattr(about["version"]),
        publisher=quoteattr(about["publisher"]),
        name=escape(about["displayName"]),
        description=escape(about["description"]),
        engine=quoteattr(about["engines"]["vscode"]),
    )
    content = {"extension.vsixmanifest": manifest.encode(), "[Content_Types].xml": TYPES.encode()}
    content |= {f"extension/{name}": file.read_bytes() for name, file in FILES.items()}
    target.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in content.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
