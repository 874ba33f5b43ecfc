// Shows one image in a page and returns the result. This function is sent to the browser as a
// string, so it must not use anything outside itself.

/** Sizes in pixels at which the browser draws an image, and its time limit in milliseconds. */
export const LIMITS = { fittedSide: 32, maxSide: 2048, averagedSide: 8, patience: 20_000 };

/** Runs in the page: shows the image at `source`. icons.mjs describes the result. */
export async function show(source, isSvg, { fittedSide, maxSide, averagedSide, patience }) {
  const image = new Image();
  const intime = (promise) => Promise.race([
    promise.then(() => true, () => false),
    new Promise((resolve) => { setTimeout(resolve, patience, false); }),
  ]);
  const base64 = async (blob) => {
    const bytes = new Uint8Array(await blob.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) {
      text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    }
    return btoa(text);
  };
  const draw = (drawn, width, height) => {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.imageSmoothingQuality = "high";
    context.drawImage(drawn, 0, 0, width, height);
    const rgba = context.getImageData(0, 0, width, height).data;
    return { rgba, png: async () => base64(await canvas.convertToBlob()) };
  };
  // The SVG is drawn several times larger, and the sRGB values in each cell are averaged.
  const averaged = (width, height) => {
    const row = width * averagedSide;
    const { rgba } = draw(image, row, height * averagedSide);
    const sums = new Float64Array(width * height * 4);
    for (let at = 0; at < rgba.length; at += 4) {
      const [x, y] = [at / 4 % row, Math.floor(at / 4 / row)];
      const to = (Math.floor(y / averagedSide) * width + Math.floor(x / averagedSide)) * 4;
      for (let c = 0; c < 3; c += 1) sums[to + c] += rgba[at + c] * rgba[at + 3];
      sums[to + 3] += rgba[at + 3];
    }
    return Uint8ClampedArray.from(sums, (sum, i) =>
      i % 4 === 3 ? sum / averagedSide ** 2 : sum / Math.max(sums[i | 3], 1));
  };
  // A raster's pixels are weighted by the area that they share with each target pixel, in linear
  // light.
  const areaMean = ({ rgba }, sides, targets) => {
    const [across, down] = sides.map((side, axis) => Array.from({ length: side }, (_, i) => {
      const [from, to] = [i, i + 1].map((edge) => edge * targets[axis] / side);
      const cell = Math.floor(from);
      const isWhole = to <= cell + 1 || cell + 1 >= targets[axis];
      return isWhole ? [[cell, to - from]] : [[cell, cell + 1 - from], [cell + 1, to - cell - 1]];
    }));
    const linear = Float64Array.from({ length: 256 }, (_, value) =>
      value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4);
    const sums = new Float64Array(targets[0] * targets[1] * 4);
    for (let at = 0; at < rgba.length; at += 4) {
      for (const [row, tall] of down[Math.floor(at / 4 / sides[0])]) {
        for (const [column, wide] of across[at / 4 % sides[0]]) {
          const to = (row * targets[0] + column) * 4;
          const weight = rgba[at + 3] * wide * tall;
          for (let c = 0; c < 3; c += 1) sums[to + c] += linear[rgba[at + c]] * weight;
          sums[to + 3] += weight;
        }
      }
    }
    return Uint8ClampedArray.from(sums, (sum, i) => {
      if (i % 4 === 3) return sum;
      const light = sums[i | 3] > 0 ? sum / sums[i | 3] : 0;
      return 255 * (light <= 0.0031308 ? light * 12.92 : 1.055 * light ** (1 / 2.4) - 0.055);
    });
  };
  const seen = { loaded: false, decoded: false, width: 0, height: 0, blank: true, fitted: null };
  const loading = new Promise((resolve, reject) => {
    image.onload = resolve;
    image.onerror = reject;
  });
  image.src = source;
  document.body.replaceChildren(image);
  seen.loaded = await intime(loading);
  if (!seen.loaded) return seen;
  seen.decoded = await intime(image.decode());
  [seen.width, seen.height] = [image.naturalWidth, image.naturalHeight];
  if (seen.width === 0 || seen.height === 0) return seen;
  let sides = [seen.width, seen.height];
  if (isSvg) {
    // Natural dimensions are rounded. Layout dimensions have 64 steps per pixel.
    image.style.cssText = "width: 6400px; height: auto";
    const { width, height } = image.getBoundingClientRect();
    if (height > 0) sides = [width, height];
    image.style.cssText = "";
  }
  const longest = Math.max(...sides);
  const scale = isSvg || longest > fittedSide ? fittedSide / longest : 1;
  const [width, height] = sides.map((side) => Math.max(Math.round(side * scale), 1));
  const picture = async (rgba) => ({ width, height, rgba: await base64(new Blob([rgba])) });
  const { rgba } = draw(image, width, height);
  seen.fitted = await picture(rgba);
  seen.blank = rgba.every((value, i) => i % 4 !== 3 || value === 0);
  if (isSvg) {
    seen.averaged = await picture(averaged(width, height));
  } else if (longest <= maxSide) {
    const managed = draw(image, seen.width, seen.height);
    seen.managed = await managed.png();
    if (scale < 1) seen.averaged = await picture(areaMean(managed, sides, [width, height]));
    // The browser shows a damaged picture but makes no bitmap from it.
    const bitmap = await createImageBitmap(image, { colorSpaceConversion: "none" })
      .catch(() => null);
    const raw = bitmap && draw(bitmap, seen.width, seen.height);
    if (raw?.rgba.some((value, i) => value !== managed.rgba[i])) seen.raw = await raw.png();
  }
  return seen;
}
