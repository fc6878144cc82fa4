// SPDX-License-Identifier: Apache-2.0
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.Deflater;

/** Threads that keep the garbage collector and native memory busy; a line now and then. */
public class Load {
	static void work(int number) throws Exception {
		List<byte[]> kept = new ArrayList<>();

		for (long i = 0;; i++) {
			byte[] data = new byte[(int) (1 + i * 7919 % 50000)], packed = new byte[60000];
			ByteBuffer direct = ByteBuffer.allocateDirect((int) (1 + i * 31 % 5000));
			Deflater deflater = new Deflater();

			Arrays.fill(data, (byte) number);
			deflater.setInput(data);
			deflater.finish();
			if (deflater.deflate(packed) <= 0)
				throw new IllegalStateException("nothing deflated");
			deflater.end();
			direct.put((byte) 1);
			kept.add(data);
			if (kept.size() < 200)
				continue;
			for (byte[] old : kept)
				if (old[old.length / 2] != (byte) number)
					throw new IllegalStateException("memory changed");
			kept.clear();
			Thread.sleep(10);
		}
	}

	public static void main(String[] args) throws Exception {
		Thread.setDefaultUncaughtExceptionHandler((t, e) -> {
			e.printStackTrace();
			Runtime.getRuntime().halt(1);
		});
		for (int n = 0; n < 3; n++) {
			int number = n;

			new Thread(() -> {
				try {
					work(number);
				} catch (Exception e) {
					throw new RuntimeException(e);
				}
			}).start();
		}
		for (;;) {
			Thread.sleep(50);
			System.out.println("on");
		}
	}
}
