"""Open MPI's fixed decisions as data, extracted from its source by a program, as a reference for the choices.

Source: Open MPI 5.0.10, ompi/mca/coll/tuned/coll_tuned_decision_fixed.c. A row ``ranks: number<bytes … number`` applies
to communicators with fewer ranks than *ranks* (``*``: to all others). It uses the first algorithm number whose limit is
above the message's bytes, else the last one. ``in order`` marks operations that do not commute.
"""

DECISIONS = {
    "allreduce": """
        4: 4<8 3<4096 4<8192 3<16384 4<65536 5<262144 6
        8: 4<16 3<8192 6
        16: 3<8192 6
        32: 5<64 3<4096 6
        64: 5<128 6
        128: 3<262144 6
        256: 2<131072 3<262144 6
        512: 2<4096 6
        2048: 2<2048 3<16384 6
        4096: 2<2048 5<4096 3<16384 6
        *: 2<2048 5<16384 3<32768 6
    """,
    "allreduce in order": """
        4: 3<131072 1
        8: 3
        16: 3<1048576 2
        128: 3
        256: 2<131072 3<524288 2
        512: 2<4096 3<524288 2
        *: 2<2048 3
    """,
    "alltoall": """
        3: 2<2 5<4 2<16 5<64 2<256 5<4096 2<32768 4<262144 5<1048576 2
        8: 4<8192 1<16384 4<65536 1<524288 2<1048576 1
        16: 4<262144 1
        32: 4<4 3<512 4<8192 1<32768 4<262144 1<524288 4
        64: 3<512 1<524288 4
        128: 3<1024 1<2048 4<4096 1<262144 2
        256: 3<1024 4<2048 1<262144 2
        512: 3<1024 4<8192 1<32768 2
        1024: 3<512 4<8192 1<16384 4<131072 1<262144 2
        2048: 3<512 4<1024 1<2048 4<16384 1<262144 4
        4096: 3<1024 4<4096 1<8192 4<131072 1
        *: 3<2048 4<8192 1<16384 4<32768 1<65536 4
    """,
    "alltoallv": """
        4: 2
        64: 1
        128: 2
        256: 1
        1024: 2
        *: 1
    """,
    "barrier": """
        4: 3
        8: 1
        64: 3
        256: 4
        512: 6
        1024: 4
        4096: 6
        *: 4
    """,
    "bcast": """
        4: 3<32 5<256 3<512 7<1024 1<32768 5<131072 2<262144 1<524288 6<1048576 5
        8: 5<64 6<128 5<2048 6<8192 1<1048576 2
        16: 7<8 5<64 7<4096 5<16384 6<32768 1
        32: 7<4096 6<1048576 8
        64: 6<2048 7
        128: 7
        256: 6<2 5<16384 1<32768 5<65536 7
        1024: 7<16384 4<32768 7
        2048: 7<524288 8
        4096: 7<262144 8
        *: 7<8192 5<16384 7<262144 8
    """,
    "reduce": """
        4: 7<8 4<16 3<32 1<262144 3<524288 2<1048576 3
        8: 4<4096 2<65536 5<262144 1<524288 5<1048576 1
        16: 4<8192 5
        32: 4<4096 5
        256: 5
        512: 5<8192 6<16384 5
        2048: 5
        4096: 5<512 6<1024 5<8192 6<16384 5
        *: 5<16 6<32 5<1024 6<2048 5<8192 6<16384 5
    """,
    "reduce in order": """
        4: 6<8 1
        8: 1
        16: 6<1024 1<8192 6<16384 1<262144 6
        128: 6
        256: 6<512 1<1024 6
        *: 6
    """,
    "reduce_scatter": """
        4: 3<65536 4<131072 3
        8: 1<8 2<262144 3
        32: 2<262144 3
        64: 1<64 2<2048 4<524288 3
        128: 1<256 2<512 4<2048 2<4096 4
        256: 1<256 2<512 4
        512: 1<256 2<1024 4
        1024: 1<512 2<2048 4<8192 2<16384 4
        2048: 1<512 2<4096 4<16384 2<32768 4
        4096: 1<512 2<4096 4
        *: 1<1024 2<8192 4
    """,
    "reduce_scatter in order": """
        *: 1
    """,
    "reduce_scatter_block": """
        4: 2<4 4<8 3<16 4<128 3<256 4<4096 3<8192 4<131072 1
        8: 3<8 2<32 4<256 3<8192 4<16384 3<1048576 1
        16: 1<4 3<32 4<128 3<524288 1<4194304 4
        32: 1<32 3<524288 1<2097152 3<4194304 4
        *: 3<4 1<16 4<65536 1<262144 4
    """,
    "reduce_scatter_block in order": """
        *: 1
    """,
    "allgather": """
        3: 6
        32: 3
        64: 3<1024 5<65536 4
        128: 3<512 5<65536 4
        256: 3<512 5<131072 4<524288 5<1048576 4
        512: 3<32 2<128 3<1024 5<131072 4<524288 5<1048576 4
        1024: 3<64 2<256 3<2048 5
        2048: 3<4 2<8 3<16 2<32 3<256 2<512 3<4096 5
        4096: 2<32 3<128 2<512 3<4096 5
        *: 3<2 2<8 3<16 2<512 3<4096 5
    """,
    "allgatherv": """
        3: 3<2048 5<4096 3<8192 5
        8: 1<256 4<4096 3<8192 4<16384 2<262144 4
        16: 1<1024 2
        32: 1<128 2<262144 3
        64: 1<256 2<8192 3
        128: 1<256 2<4096 3
        256: 2<1024 4<65536 3
        512: 2<1024 3
        1024: 2<512 1<1024 2<4096 4<1048576 3
        *: 2<4096 4
    """,
    "gather": """
        4: 3<2 1<4 2<32768 1<65536 2<131072 3
        8: 2<1024 1<8192 2<32768 1<262144 3
        256: 2
        512: 2<2048 1<8192 2
        *: 2
    """,
    "scatter": """
        4: 3<2 1<131072 3<262144 1
        8: 2<2048 1<4096 2<8192 1<32768 3<1048576 1
        16: 2<16384 3<1048576 1
        32: 2<16384 1<32768 3
        64: 2<512 3<8192 2<16384 3
        *: 2<512 3
    """,
}
#: The catalogue's names of the algorithm numbers. Without segments, a pipeline (bcast, reduce: 3) is a chain, a
#: segmented ring (allreduce: 5) a ring, and linear_sync of alltoall (4) linear; between two ranks, all are two_proc.
NUMBERS = {
    "allreduce": "linear nonoverlapping recursive_doubling ring ring rabenseifner",
    "alltoall": "linear pairwise_shifted bruck linear pairwise_shifted",
    "alltoallv": "linear pairwise_shifted",
    "barrier": "linear double_ring recursive_doubling dissemination two_proc binomial",
    "bcast": "linear chain chain split_binary binary binomial_doubling knomial scatter_doubling_allgather",
    "reduce": "linear chain chain binary binomial in_order_binary rabenseifner",
    "reduce_scatter": "nonoverlapping recursive_halving ring butterfly",
    "reduce_scatter_block": "reduce_then_scatter recursive_doubling recursive_halving butterfly",
    "allgather": "linear bruck recursive_doubling ring neighbor_exchange recursive_doubling",
    "allgatherv": "gather_bcast bruck ring neighbor_exchange ring",
    "gather": "linear_in_turn binomial linear_sync",
    "scatter": "linear_in_turn binomial linear",
}
