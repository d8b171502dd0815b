"use strict";
// Long attributes are packed as gzip in base64. A browser that cannot unpack them shows no values here; the tables have them.
const unpack = (text) => {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
};

