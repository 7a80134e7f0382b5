# SPDX-License-Identifier: BSD-2-Clause
"""The program of test_roce.py that talks to a peer by unreliable datagrams: sends a message of each
size, and wants the same back. Its argument is the peer's GID."""

import sys

from pyverbs.addr import AH, GID, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR
import pyverbs.enums as e

from roce_peer import QKEY, QPN, SIZES

GRH = 40
ROOM = 8192


def wait(cq):
    while True:
        count, completions = cq.poll()
        if count:
            assert completions[0].status == e.IBV_WC_SUCCESS, completions[0]
            return completions[0]


def main():
    context = Context(name="mlx5_0")
    pd = PD(context)
    send_cq, recv_cq = CQ(context, 16), CQ(context, 16)
    attr = QPAttr(port_num=1)
    attr.qkey = QKEY
    # With attributes given, it is ready to send.
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=send_cq, rcq=recv_cq,
                           cap=QPCap(4, 4, 1, 1)), attr)
    region = MR(pd, 2 * ROOM, e.IBV_ACCESS_LOCAL_WRITE)
    route = GlobalRoute(sgid_index=0, dgid=GID(sys.argv[1]))
    ah = AH(pd, attr=AHAttr(port_num=1, is_global=1, gr=route))
    for size in SIZES:
        message = bytes(i * 7 % 251 for i in range(size))
        region.write(message, size)
        qp.post_recv(RecvWR(num_sge=1, sg=[SGE(region.buf + ROOM, ROOM, region.lkey)]))
        send = SendWR(num_sge=1, sg=[SGE(region.buf, size, region.lkey)], opcode=e.IBV_WR_SEND,
                      send_flags=e.IBV_SEND_SIGNALED)
        send.set_wr_ud(ah, QPN, QKEY)
        qp.post_send(send)
        wait(send_cq)
        done = wait(recv_cq)
        assert (done.byte_len == GRH + size and done.src_qp == QPN and
                done.wc_flags & e.IBV_WC_GRH), done
        got = region.read(GRH + size, ROOM)
        assert got[GRH:] == message, got[GRH:GRH + 16].hex()
        # The place of the GRH has the IPv4 header in its end.
        assert got[:20] == bytes(20) and got[20] == 0x45, got[:GRH].hex()
    print("done", flush=True)


if __name__ == "__main__":
    main()
