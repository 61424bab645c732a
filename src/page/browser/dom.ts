/** Elements made by code. Text goes in as text: nothing of the data is ever read as markup. */

type Child = Node | string | undefined;

interface Properties {
  readonly class?: string;
  readonly id?: string;
  readonly role?: string;
  readonly title?: string;
  readonly href?: string;
  /** `aria-…` and `data-…`. */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly onClick?: (event: MouseEvent) => void;
}

/** An element with attributes and children; undefined children are left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  { class: className, id, role, title, href, attributes = {}, onClick }: Properties = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  const given = { class: className, id, role, title, href, ...attributes };
  for (const [name, value] of Object.entries(given))
    if (value !== undefined) made.setAttribute(name, value);
  if (onClick !== undefined) made.addEventListener('click', onClick as EventListener);
  for (const child of children) if (child !== undefined) made.append(child);
  return made;
}

/** The element with that id, which the page itself has made. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found;
}
