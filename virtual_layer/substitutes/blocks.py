"""Buffers of collectives, in any of mpi4py's forms: split into blocks of bytes and joined again.

Blocks of plain bytes are copied. Otherwise mpi4py itself does the work: a real neighbourhood collective of this
process, on a graph in which it is its own neighbour once for each block, interprets counts, displacements and
datatypes, and raises the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from virtual_layer.meaning.arguments import (
    FORMATS,
    array_type,
    block_size,
    block_sizes,
    split_message,
    typed_block_sizes,
)
from virtual_layer.substitutes.plain import PlainBuffers

if TYPE_CHECKING:
    from virtual_layer.substitutes.port import Payload
    from virtual_layer.substitutes.real import RealMPI


class BlockForm(Enum):
    """How a buffer argument describes its blocks."""

    EQUAL = "Neighbor_alltoall"
    VECTOR = "Neighbor_alltoallv"
    TYPED = "Neighbor_alltoallw"


def all_blocks(mpi: Any, buffer: Any, blocks: int) -> Any:
    """Return several blocks of a buffer as one; its count, if given, is that of a block."""
    if type(buffer) is not list and type(buffer) is not tuple:
        return buffer
    holder, count, displacement, kind = split_message(mpi, buffer)
    if count is None:
        return buffer
    return [holder, (int(count) * blocks, int(displacement or 0)), *([] if kind is None else [kind])]


class Blocks:
    """Packs and unpacks buffers on real graphs of this process alone."""

    def __init__(self, own: RealMPI) -> None:
        self._mpi = own.mpi
        self._port = own.port
        self._plain = PlainBuffers(own.mpi)
        self._graphs: dict[int, Any] = {}
        self._exchange = {form: own.original("Topocomm", form.value) for form in BlockForm}
        self._create = own.original("Intracomm", "Create_dist_graph_adjacent")
        self._prepare, self._free = own.original("Comm", "Send_init"), own.original("Request", "Free")

    def sizes(self, buffer: Any, count: int, form: BlockForm = BlockForm.EQUAL) -> list[int]:
        """Return the bytes of each block of a buffer."""
        if form is BlockForm.VECTOR:
            return block_sizes(self._mpi, buffer, count) if count else []
        if form is BlockForm.TYPED:
            return typed_block_sizes(buffer, count)
        return [block_size(self._mpi, buffer, max(count, 1))] * count

    def size(self, buffer: Any) -> int:
        """Return the bytes of a buffer that is one block."""
        return block_size(self._mpi, buffer)

    def pack(self, buffer: Any, readers: int = 1) -> Payload:
        """Pack a buffer that is one block."""
        plain = self._plain.look(buffer)
        if plain is not None:
            return self.payload(plain[0], readers)
        payload, memory = self._port.room(self.size(buffer), readers)
        self._exchange[BlockForm.EQUAL](self._graph(1), buffer, [memory, self._mpi.BYTE])
        return payload

    def pack_inline(self, buffer: Any) -> bytearray:
        """Pack a buffer that is one block into memory of this process, for an unknown number of readers."""
        plain = self._plain.look(buffer)
        if plain is not None:
            return bytearray(plain[0])
        memory = bytearray(self.size(buffer))
        self._exchange[BlockForm.EQUAL](self._graph(1), buffer, [memory, self._mpi.BYTE])
        return memory

    def unpack(self, buffer: Any, payload: Payload) -> None:
        """Unpack into a buffer that is one block, and release the payload."""
        view, plain = self._port.view(payload), self._plain.look(buffer, writable=True)
        if plain is not None and len(view) <= plain[1]:
            plain[0][: len(view)] = view
        else:
            self._exchange[BlockForm.EQUAL](self._graph(1), [view, self._mpi.BYTE], buffer)
        self._port.release(payload)

    def split(
        self, buffer: Any, count: int, form: BlockForm = BlockForm.EQUAL, sent: Sequence[bool] = ()
    ) -> list[Payload]:
        """Pack each block of a buffer, or only those that are ``sent``: shared memory is freed by its readers."""
        blocks = self._split(buffer, count, form)
        pairs = zip(blocks, sent or [True] * count, strict=True)
        return [self.payload(block) if goes else None for block, goes in pairs]

    def own(self, buffer: Any, count: int, which: int, form: BlockForm = BlockForm.EQUAL, readers: int = 1) -> Payload:
        """Pack one of the blocks of a buffer."""
        return self.payload(self._split(buffer, count, form)[which], readers)

    def join(self, buffer: Any, payloads: Sequence[Payload], form: BlockForm = BlockForm.EQUAL) -> None:
        """Unpack a payload into each block of a buffer; a block stays as it is where the payload is ``None``."""
        blocks = [self._port.view(payload) for payload in payloads]
        if form is not BlockForm.EQUAL or not self._join_plain(buffer, blocks):
            if None in payloads:
                pairs = zip(self._split(buffer, len(blocks), form), blocks, payloads, strict=True)
                blocks = [old if payload is None else new for old, new, payload in pairs]
            self._join(buffer, blocks, form)
        for payload in payloads:
            self._port.release(payload)

    def _join_plain(self, buffer: Any, blocks: Sequence[Any]) -> bool:
        """Copy contiguous blocks; return whether the buffer is that simple."""
        plain = self._plain.look(buffer, len(blocks), writable=True)
        if plain is None or any(len(block) > plain[1] for block in blocks):
            return False
        view, size = plain
        for at, block in enumerate(blocks):
            view[at * size : at * size + len(block)] = block
        return True

    def _split(self, buffer: Any, count: int, form: BlockForm) -> list[memoryview]:
        plain = self._plain.look(buffer, count) if form is BlockForm.EQUAL else None
        if plain is not None:
            return [plain[0][at * plain[1] : (at + 1) * plain[1]] for at in range(count)]
        sizes = self.sizes(buffer, count, form)
        memory = bytearray(sum(sizes))
        self._exchange[form](self._graph(count), buffer, self._bytes(memory, sizes, form))
        view, blocks, at = memoryview(memory), [], 0
        for size in sizes:
            blocks.append(view[at : at + size])
            at += size
        return blocks

    def _join(self, buffer: Any, blocks: Sequence[Any], form: BlockForm) -> None:
        sizes = [len(block) for block in blocks]
        if form is BlockForm.EQUAL and len(set(sizes)) > 1:
            raise self._mpi.Exception(self._mpi.ERR_TRUNCATE)
        memory = b"".join(blocks)
        self._exchange[form](self._graph(len(blocks)), self._bytes(memory, sizes, form), buffer)

    def _bytes(self, memory: Any, sizes: Sequence[int], form: BlockForm) -> list[Any]:
        """Describe contiguous blocks of bytes."""
        byte = self._mpi.BYTE
        if form is BlockForm.EQUAL:
            return [memory, sizes[0] if sizes else 0, byte]
        if form is BlockForm.VECTOR:
            return [memory, sizes, byte]
        starts = [sum(sizes[:at]) for at in range(len(sizes))]
        return [memory, sizes, starts, [byte] * len(sizes)]

    def payload(self, block: Any, readers: int = 1) -> Payload:
        """Copy bytes into a payload."""
        payload, memory = self._port.room(len(block), readers)
        memory[:] = block
        return payload

    def _graph(self, count: int) -> Any:
        graph = self._graphs.get(count)
        if graph is None:
            myself = [0] * count
            graph = self._graphs[count] = self._create(self._mpi.COMM_SELF, myself, myself)
        return graph

    # -- datatypes ----------------------------------------------------------------------------------------

    def kind(self, buffer: Any) -> Any:
        """Return the datatype of a buffer: the stated one, or that of its elements."""
        kind = split_message(self._mpi, buffer)[3] if isinstance(buffer, list | tuple) else None
        if kind is not None:
            return kind
        code = self._format(buffer[0] if isinstance(buffer, list | tuple) else buffer)
        found = self._mpi._typedict.get(code.lstrip("@=<>"))
        if found is None:
            # mpi4py raises the error, unless it takes elements of a type that MPI does not have for bytes.
            self._free(self._prepare(self._mpi.COMM_SELF, buffer, 0, 0))
            return self._mpi.BYTE
        return found

    def _format(self, holder: Any) -> str:
        try:
            return memoryview(holder).format
        except TypeError:
            pass
        try:  # arrays of other libraries and devices
            return FORMATS.get(array_type(self._mpi, holder), "")
        except (TypeError, ValueError, AttributeError, BufferError):
            return ""

    def fold(self, operation: Any, kind: Any, blocks: Sequence[Any]) -> bytearray:
        """Combine packed blocks of one datatype, from the first to the last, by the real operation."""
        if kind.is_predefined and kind.Get_size() == kind.Get_extent()[1]:
            return self._fold(operation, kind, [bytearray(block) for block in blocks])
        laid_out = self._fold(operation, kind, [self._lay_out(kind, block) for block in blocks])
        return self.pack_inline([laid_out, len(blocks[0]) // kind.Get_size(), kind])

    def _fold(self, operation: Any, kind: Any, arrays: Sequence[bytearray]) -> bytearray:
        folded = arrays[0]
        extent = kind.Get_extent()[1]
        count = len(folded) // extent if extent else 0
        for array in arrays[1:]:
            operation.Reduce_local([folded, count, kind], [array, count, kind])
            folded = array
        return folded

    def _lay_out(self, kind: Any, block: Any) -> bytearray:
        count = len(block) // kind.Get_size()
        memory = bytearray(count * kind.Get_extent()[1])
        self._exchange[BlockForm.EQUAL](self._graph(1), [block, self._mpi.BYTE], [memory, count, kind])
        return memory
