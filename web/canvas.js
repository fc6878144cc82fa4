// SPDX-License-Identifier: Apache-2.0
// A canvas that fills the visible part of its scroller and is sharp on every screen.

/** Fit it to the scroller; returns { context, width, height } in CSS pixels. */
export function fitCanvas(canvas, scroller) {
	const ratio = window.devicePixelRatio || 1;
	const width = scroller.clientWidth;
	const height = scroller.clientHeight;
	const wide = Math.max(1, Math.round(width * ratio));
	const high = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== wide || canvas.height !== high) {
		canvas.width = wide;
		canvas.height = high;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const context = canvas.getContext('2d');
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	return { context, width, height };
}

/** Calls draw() once before the next frame, however often this is called. */
export function drawSoon(draw) {
	let asked = false;
	return () => {
		if (asked) return;
		asked = true;
		requestAnimationFrame(() => {
			asked = false;
			draw();
		});
	};
}
