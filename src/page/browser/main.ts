/** The page: reads the data that is in its document, and draws it. */
import { OUTSIDE } from '../../reach/way.ts';
import type { PageData } from '../page-data.ts';
import { Pairs } from '../pairs.ts';
import { KINDS, PROOFS } from './cells.ts';
import { byId, element } from './dom.ts';
import { Matrix } from './matrix.ts';
import { followNewer } from './newer.ts';
import { Panel } from './panel.ts';
import { hashOf, placeOf } from './places.ts';

const data = JSON.parse(byId('data').textContent) as PageData;
const pairs = new Pairs(data);
const panel = new Panel(data, pairs);
const matrix = new Matrix(pairs, (place) => {
  location.hash = hashOf(place);
});

const search = element('input', {
  id: 'search',
  attributes: {
    type: 'search',
    placeholder: 'Search: network, pod, address, object',
    'aria-label': 'Search networks, pods, addresses and objects',
    autocomplete: 'off',
    spellcheck: 'false',
  },
});
const namespaces = [...new Set(data.networks.flatMap((network) => network.namespaces))].toSorted();
const namespace = element(
  'select',
  { id: 'namespace', attributes: { 'aria-label': 'Namespace' } },
  element('option', { attributes: { value: '' } }, 'all namespaces'),
  ...namespaces.map((name) => element('option', { attributes: { value: name } }, name)),
);
const onlyLinked = element('input', { id: 'linked', attributes: { type: 'checkbox' } });
const shown = element('output', { id: 'shown', attributes: { 'aria-live': 'polite' } });
const aside = element('aside', { id: 'panel', attributes: { 'aria-live': 'polite' } });

/** Every pair of networks once, not `outside`. */
function summary(): string {
  const names = data.networks.map(({ name }) => name);
  let reached = 0;
  for (const [index, name] of names.entries())
    for (const other of names.slice(index + 1)) if (pairs.isReached(name, other)) reached += 1;
  const all = (names.length * (names.length - 1)) / 2;
  return `${names.length} networks, ${data.pods.length} pods; of ${all} pairs ${all - reached} are apart, in ${reached} something is reached`;
}

const explained = (look: string, sign: string, words: string): HTMLElement =>
  element(
    'span',
    {},
    element('span', { class: `sign ${look.replace(' ', '-')}` }, sign),
    ` ${words}`,
  );

const legend = element(
  'p',
  { class: 'legend' },
  explained('apart', '·', 'apart'),
  ...Object.entries(KINDS).map(([kind, { sign, words }]) => explained(kind, sign, words)),
  ...(data.proof === undefined
    ? []
    : Object.entries(PROOFS)
        .filter(([, { sign }]) => sign !== '')
        .map(([kind, { sign, words }]) => explained(kind, sign, words))),
);

document.title = `Heddle: networks of ${data.node}`;
document.body.append(
  element(
    'header',
    {},
    element(
      'a',
      { class: 'title', href: hashOf({ kind: 'start' }) },
      element('strong', {}, 'Heddle'),
      ` ${data.node}`,
      element('span', { class: 'quiet' }, ` ${data.time.slice(0, 16).replace('T', ' ')} UTC`),
    ),
    search,
    namespace,
    element('label', {}, onlyLinked, ' only networks with something to show'),
    shown,
  ),
  element(
    'main',
    {},
    element(
      'section',
      { attributes: { 'aria-label': 'Networks' } },
      element('p', { class: 'summary' }, summary()),
      matrix.element,
      legend,
    ),
    aside,
  ),
);

/** Networks that the filters leave, with those that they reach or are reached from. */
function filteredNames(): readonly string[] {
  const text = search.value.trim().toLowerCase();
  const isFiltered = text !== '' || namespace.value !== '';
  const ofPods = new Set(
    text === ''
      ? []
      : data.pods
          .filter(({ key }) => key.toLowerCase().includes(text))
          .flatMap(({ interfaces }) => interfaces.map(({ network }) => network)),
  );
  const meant = data.networks
    .filter(
      ({ name, object = '', namespaces: own }) =>
        (text === '' ||
          ofPods.has(name) ||
          name.toLowerCase().includes(text) ||
          object.toLowerCase().includes(text)) &&
        (namespace.value === '' || own.includes(namespace.value)) &&
        (!onlyLinked.checked || isLinked(name)),
    )
    .map(({ name }) => name);
  const wanted = new Set(
    isFiltered ? meant.flatMap((name) => [name, ...pairs.linkedWith(name)]) : meant,
  );
  return [OUTSIDE, ...data.networks.map(({ name }) => name).filter((name) => wanted.has(name))];
}

const isLinked = (name: string): boolean =>
  pairs.pair(OUTSIDE, name).by.length > 0 ||
  [...pairs.linkedWith(name)].some((other) => other !== OUTSIDE);

function filter(): void {
  const names = filteredNames();
  matrix.show(names);
  shown.value = `${names.length - 1} of ${data.networks.length} networks`;
  const text = search.value.trim();
  if (text !== '') aside.replaceChildren(...panel.found(text));
  else if (aside.dataset['of'] === 'search') open(false);
  aside.dataset['of'] = text === '' ? 'place' : 'search';
}

/** Shows what the address names; `takesFocus` moves those who can't see it there, too. */
function open(takesFocus: boolean): void {
  const place = placeOf(location.hash);
  aside.dataset['of'] = 'place';
  aside.replaceChildren(...panel.contentOf(place));
  aside.scrollTop = 0;
  matrix.choose(place);
  const fromMatrix = document.activeElement?.id === 'matrix';
  if (takesFocus && !fromMatrix) aside.querySelector('h1')?.focus();
}

search.addEventListener('input', filter);
namespace.addEventListener('change', filter);
onlyLinked.addEventListener('change', filter);
addEventListener('hashchange', () => open(true));
addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof HTMLInputElement;
  if (event.key === '/' && !isTyping) {
    event.preventDefault();
    search.focus();
  } else if (event.key === 'Escape' && document.querySelector('dialog') === null) {
    if (isTyping && search.value !== '') {
      search.value = '';
      filter();
    } else byId('matrix').focus();
  }
});
filter();
open(false);
followNewer(data.time);
performance.mark('drawn');
