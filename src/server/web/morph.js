// Makes a part of the document like one that was built anew, and leaves alone what is the same: so
// focus, scroll positions and opened details stay.

export function morph(old, wanted) {
  if (old.nodeType !== wanted.nodeType || old.nodeName !== wanted.nodeName) {
    old.replaceWith(wanted);
  } else if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
  } else {
    morphAttributes(old, wanted);
    morphChildren(old, [...wanted.childNodes]);
  }
}

function morphAttributes(old, wanted) {
  for (const { name, value } of [...wanted.attributes]) {
    if (name !== 'style' && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (name !== 'open' && !wanted.hasAttribute(name)) old.removeAttribute(name);
  }
  // The policy of the page forbids style attributes, but not this.
  const style = wanted.style?.cssText ?? '';
  if (old.style && old.style.cssText !== style) old.style.cssText = style;
}

function morphChildren(old, wanted) {
  const before = [...old.childNodes];
  wanted.forEach((child, index) => {
    if (index < before.length) morph(before[index], child);
    else old.append(child);
  });
  before.slice(wanted.length).forEach((child) => child.remove());
}

/** Shows `node` as all that an element holds. */
export function show(place, node) {
  morphChildren(place, [node]);
}
