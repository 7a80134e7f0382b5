// SPDX-License-Identifier: BSD-2-Clause
// Memory of a JVM, with the threads of its collectors, is registered, written by an HCA, and freed.
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

public class RoundTrip {
    static final int BYTES = 192 * 1024;
    static final int ROUNDS = 60;

    static native long begin(long at, long bytes);
    static native void write(long handle, int value);
    static native void end(long handle);

    static void expect(boolean good, String what) {
        if (!good) {
            System.out.println("wrong: " + what);
            System.exit(1);
        }
    }

    public static void main(String[] words) throws Exception {
        System.load(words[0]);
        Field field = sun.misc.Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
        List<byte[]> kept = new ArrayList<>();
        for (int round = 0; round < ROUNDS; ++round) {
            long at = unsafe.allocateMemory(BYTES);
            unsafe.setMemory(at, BYTES, (byte) 1);
            long handle = begin(at, BYTES);
            write(handle, 2 + round);
            // Garbage, so that memory is collected, given to the kernel and taken again.
            for (int i = 0; i < 50; ++i) {
                kept.add(new byte[256 * 1024]);
                ByteBuffer fresh = ByteBuffer.allocateDirect(64 * 1024);
                expect(fresh.get(1234) == 0 && fresh.get(64 * 1024 - 1) == 0, "a fresh buffer is not zero");
            }
            for (byte[] each : kept) {
                expect(each[100] == 0 && each[each.length - 1] == 0, "a fresh array is not zero");
            }
            kept.clear();
            System.gc();
            for (int i = 0; i < BYTES; ++i) {
                expect(unsafe.getByte(at + i) == (byte) (2 + round), "byte " + i + " of round " + round);
            }
            end(handle);
            unsafe.freeMemory(at);
        }
        System.out.println("round trips: " + ROUNDS);
    }
}
