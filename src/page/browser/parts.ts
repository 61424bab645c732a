/** What panels are put together of. */
import { element } from './dom.ts';
import { hashOf, type Place } from './places.ts';

/** Of a longer list so many are shown, and more on request. */
const SHOWN = 100;

export type Children = readonly (Node | string)[];

export const heading = (text: string): HTMLElement =>
  element('h1', { attributes: { tabindex: '-1' } }, text);

export const note = (text: string): HTMLElement => element('p', { class: 'quiet' }, text);

/** A judgement: a sign and a word beside the colour. */
export const mark = (kind: 'good' | 'bad' | 'apart' | 'allowed', text: string): HTMLElement =>
  element(
    'p',
    { class: `mark ${kind}` },
    `${{ good: '✓', bad: '✗', apart: '·', allowed: '→' }[kind]} ${text}`,
  );

export const link = (place: Place, text: string): HTMLElement =>
  element('a', { href: hashOf(place) }, text);

export const networkLink = (name: string): HTMLElement => link({ kind: 'network', name }, name);
export const podLink = (key: string, text = key): HTMLElement => link({ kind: 'pod', key }, text);

export const joined = (nodes: readonly Node[]): Children =>
  nodes.flatMap((node, index) => (index === 0 ? [node] : [', ', node]));

export const unknown = (what: string, name: string): readonly Node[] => [
  heading(name),
  note(`There is no such ${what} in this page.`),
];

/** Nothing where there is nothing to list, unless there is a text for that. */
export function section(title: string, content: Node, ifEmpty?: string): readonly Node[] {
  if (content.hasChildNodes()) return [element('h2', {}, title), content];
  return ifEmpty === undefined ? [] : [element('h2', {}, title), note(ifEmpty)];
}

export function list(items: readonly Children[]): HTMLElement {
  const made = element('ul');
  const append = (from: number): void => {
    made.append(...items.slice(from, from + SHOWN).map((item) => element('li', {}, ...item)));
    const rest = items.length - from - SHOWN;
    if (rest <= 0) return;
    const more = element(
      'li',
      {},
      element(
        'button',
        {
          onClick: () => {
            more.remove();
            append(from + SHOWN);
          },
        },
        `${rest} more`,
      ),
    );
    made.append(more);
  };
  append(0);
  return made;
}

export function facts(pairs: readonly (readonly [name: string, value: Children])[]): HTMLElement {
  return element(
    'dl',
    {},
    ...pairs.flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, ...value)]),
  );
}
