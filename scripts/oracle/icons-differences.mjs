// Measures the difference between two pictures. A picture is {width, height, rgba: straight RGBA
// bytes}.

/** Pads a picture with transparent pixels. */
function padded({ width, height, rgba }, sides) {
  if (width === sides.width && height === sides.height) return rgba;
  const canvas = Buffer.alloc(sides.width * sides.height * 4);
  for (let y = 0; y < height; y += 1) {
    rgba.copy(canvas, y * sides.width * 4, y * width * 4, (y + 1) * width * 4);
  }
  return canvas;
}

/**
 * Returns the mean differences between sRGB values, composited on black and on white, in levels out
 * of 255.
 */
export function differences(one, other) {
  const sides = {
    width: Math.max(one.width, other.width),
    height: Math.max(one.height, other.height),
  };
  const [a, b] = [padded(one, sides), padded(other, sides)];
  let [onBlack, onWhite] = [0, 0];
  for (let at = 0; at < a.length; at += 4) {
    const [alpha, beta] = [a[at + 3], b[at + 3]];
    for (let channel = at; channel < at + 3; channel += 1) {
      const difference = (a[channel] * alpha - b[channel] * beta) / 255;
      onBlack += Math.abs(difference);
      onWhite += Math.abs(difference - alpha + beta);
    }
  }
  const samples = a.length / 4 * 3;
  return { onBlack: onBlack / samples, onWhite: onWhite / samples };
}

/** Returns the greater difference, because one background alone can hide a wrong alpha. */
export function difference(one, other) {
  const { onBlack, onWhite } = differences(one, other);
  return Math.max(onBlack, onWhite);
}

/** Returns the picture with its alpha mapped from 0..255 to 16..235. */
export function withLimitedOpacity({ rgba, ...sides }) {
  const limited = Uint8ClampedArray.from(rgba, (value, i) =>
    (i % 4 === 3 ? (value - 16) * 255 / 219 : value));
  return { ...sides, rgba: Buffer.from(limited) };
}
