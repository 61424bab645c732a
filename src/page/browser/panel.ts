/** What stands beside the matrix: a network, a pair, a pod, an object, or how all is. */
import { OUTSIDE, type Join, type Way } from '../../reach/way.ts';
import type { PageData, PageNetwork } from '../page-data.ts';
import { headersText } from '../../verify/headers-text.ts';
import { passingBetween, type Pairs } from '../pairs.ts';
import { KINDS, PROOFS } from './cells.ts';
import { changeItem, changesPanel } from './changes.ts';
import { element } from './dom.ts';
import {
  facts,
  heading,
  joined,
  link,
  list,
  mark,
  networkLink,
  note,
  podLink,
  section,
  unknown,
  type Children,
} from './parts.ts';
import type { Place } from './places.ts';

export class Panel {
  readonly #data: PageData;
  readonly #pairs: Pairs;
  readonly #networks: ReadonlyMap<string, PageNetwork>;
  readonly #yaml: ReadonlyMap<string, string>;

  constructor(data: PageData, pairs: Pairs) {
    this.#data = data;
    this.#pairs = pairs;
    this.#networks = new Map(data.networks.map((network) => [network.name, network]));
    this.#yaml = new Map(data.objects);
  }

  /** Title of the place, and what is known of it. */
  contentOf(place: Place): readonly Node[] {
    switch (place.kind) {
      case 'start':
        return this.#start();
      case 'network':
        return this.#network(place.name);
      case 'pair':
        return this.#pair(place.from, place.to);
      case 'pod':
        return this.#pod(place.key);
      case 'object':
        return this.#object(place.object);
      case 'changes':
        return changesPanel(this.#data, (object) => this.#objectLink(object));
    }
  }

  /** Networks, pods and objects whose names hold the text. */
  found(text: string): readonly Node[] {
    const wanted = text.toLowerCase();
    const has = (name: string): boolean => name.toLowerCase().includes(wanted);
    const networks = this.#data.networks.filter(
      ({ name, object = '' }) => has(name) || has(object),
    );
    const pods = this.#data.pods.filter(
      ({ key, interfaces }) =>
        has(key) ||
        interfaces.some(({ addresses }) => addresses.some((one) => one.startsWith(text))),
    );
    const objects = this.#data.objects.filter(([name]) => !name.startsWith('Pod ') && has(name));
    const count = networks.length + pods.length + objects.length;
    return [
      heading(count === 0 ? `Nothing is called “${text}”` : `Found: ${text}`),
      ...section('Networks', list(networks.map(({ name }) => [networkLink(name)]))),
      ...section('Pods', list(pods.map(({ key }) => [podLink(key)]))),
      ...section('Objects', list(objects.map(([name]) => [this.#objectLink(name)]))),
    ];
  }

  #start(): readonly Node[] {
    const { status, proof, problems } = this.#data;
    const nodes = (status?.nodes ?? []).map(({ name, daemon, message, observedAt }): Children => [
      element('strong', {}, name),
      ` ${daemon}${message === undefined ? '' : `: ${message}`}`,
      element('span', { class: 'quiet' }, ` ${observedAt ?? 'never reported'}`),
    ]);
    return [
      heading('How it is'),
      status === undefined
        ? note('No daemon was asked: how nodes are is not known here.')
        : mark(status.isWell ? 'good' : 'bad', status.verdict),
      ...section('Problems', this.#messages(status?.problems ?? problems)),
      ...section('Waiting', this.#messages(status?.waiting ?? [])),
      ...section('Nodes', list(nodes)),
      ...section('Changes', list(this.#changesSeen())),
      element('h2', {}, 'Proof'),
      ...(proof === undefined
        ? [
            note(
              'None was given. “Apart” is what the objects say; heddle verify --certify FILE on a node proves it, and --proof FILE shows it here.',
            ),
          ]
        : [
            mark(
              proof.verdict === 'apart' ? 'good' : 'bad',
              `${proof.verdict}, on node ${proof.node}`,
            ),
            facts([
              ['made', [proof.time]],
              ['networks', [String(proof.networks.length)]],
              ['digest', [element('code', {}, proof.digest)]],
            ]),
            ...section(
              'Violations',
              list(
                proof.violations.map(({ object, where, what, networks }) => [
                  this.#objectLink(object),
                  `: ${where}: ${what}`,
                  ...networks.flatMap((name) => [' ', networkLink(name)]),
                ]),
              ),
            ),
            ...section('Not decided', list(proof.undecided.map((text) => [text]))),
            ...section('Not looked at', list(proof.notProved.map((text) => [text]))),
          ]),
    ];
  }

  /** How many, with the way there. */
  #changesSeen(): readonly Children[] {
    const { changes, plan } = this.#data;
    if (changes === undefined) return [];
    const drifts = changes.changes.filter(({ kind }) => kind === 'drift').length;
    const pending = plan === undefined ? '' : `, ${plan.rows} rows to change now`;
    return [
      [
        link({ kind: 'changes' }, `what the daemon of ${changes.node} changed`),
        `: ${changes.changes.length} kept, ${drifts} of them drift${pending}`,
      ],
    ];
  }

  /** Those of an object. */
  #changesOf(object: string | undefined): readonly Node[] {
    const own = (this.#data.changes?.changes ?? []).filter(({ objects }) =>
      objects.some((one) => one.object === object),
    );
    return section(
      'Changed lately',
      list(own.map((change) => changeItem(change, (name) => this.#objectLink(name)))),
    );
  }

  #network(name: string): readonly Node[] {
    const network = this.#networks.get(name);
    if (network === undefined) return unknown('network', name);
    const { object, id, topology, role, subnets, namespaces, state, picture } = network;
    const pods = this.#data.pods.filter(({ interfaces }) =>
      interfaces.some((one) => one.network === name && one.role !== 'infrastructure-locked'),
    );
    const others = [...this.#pairs.linkedWith(name)].filter((other) => other !== name).toSorted();
    const problems = (this.#data.status?.problems ?? this.#data.problems).filter(
      (problem) => problem.object === object || problem.object === `Network ${name}`,
    );
    return [
      heading(name),
      facts([
        ['object', [object === undefined ? 'none' : this.#objectLink(object)]],
        ['id', [id === undefined ? 'not allocated' : String(id)]],
        ['kind', [[topology, role].filter(Boolean).join(', ') || 'not known']],
        ['subnets', [subnets.join(' ') || 'none']],
        ['namespaces', [namespaces.join(', ') || 'none']],
        ...(state === undefined ? [] : [['state', [state]] as const]),
      ]),
      ...section('Problems', this.#messages(problems)),
      ...section(
        'Reached from',
        list(others.flatMap((other) => this.#ways(other, name, other))),
        'No other network, and nothing outside.',
      ),
      ...section(
        'Reaches',
        list(others.flatMap((other) => this.#ways(name, other, other))),
        'No other network, and nothing outside.',
      ),
      ...(this.#pairs.pair(name, OUTSIDE).by.length === 0
        ? []
        : [note('And, as somebody outside does, whatever other networks expose (E).')]),
      element('h2', {}, `Topology on ${this.#data.node}`),
      picture === undefined
        ? note('Nothing on this node uses the network.')
        : pictureOf(picture, `Topology of ${name}`),
      ...section(`Pods (${pods.length})`, list(pods.map(({ key }) => [podLink(key)])), 'None.'),
      ...this.#changesOf(object),
      ...section('Services', list(network.services.map((one) => [this.#objectLink(one)]))),
      ...section('Policies', list(network.policies.map((one) => [this.#objectLink(one)]))),
    ];
  }

  #pair(from: string, to: string): readonly Node[] {
    const known = (name: string): boolean => name === OUTSIDE || this.#networks.has(name);
    if (!known(from) || !known(to)) return unknown('network', known(from) ? to : from);
    const { by, proof } = this.#pairs.pair(from, to);
    const edges = (this.#data.proof?.edges ?? []).filter(
      (edge) => edge.from === from && edge.to === to,
    );
    const violations = (this.#data.proof?.violations ?? []).filter(
      ({ networks }) => networks.includes(from) && networks.includes(to),
    );
    return [
      heading(`${from} → ${to}`),
      mark(
        by.length === 0 ? 'apart' : 'allowed',
        by.length === 0 ? 'Apart: no object lets anything through.' : 'Reached, by:',
      ),
      list(by.map((one) => this.#way(one))),
      ...(proof === undefined
        ? [
            note(
              from === OUTSIDE || to === OUTSIDE
                ? 'A proof is about pairs of networks.'
                : 'There is no proof of these two here.',
            ),
          ]
        : [
            mark(
              proof === 'proved' ? 'good' : proof === 'joined' ? 'allowed' : 'bad',
              `Proof: ${PROOFS[proof].words}${proof === 'proved' && by.length > 0 ? ': nothing but that' : ''}`,
            ),
          ]),
      ...section(
        'Violations',
        list(
          violations.map(({ object, where, what }) => [
            this.#objectLink(object),
            `: ${where}: ${what}`,
          ]),
        ),
      ),
      ...this.#passing(from, to),
      ...section(
        'Rows by which it leads',
        list(edges.map(({ where, object }) => [`${where}: `, this.#objectLink(object)])),
      ),
      element('h2', {}, 'More'),
      list([
        [link({ kind: 'pair', from: to, to: from }, `the other way: ${to} → ${from}`)],
        ...[from, to].filter((name) => name !== OUTSIDE).map((name) => [networkLink(name)]),
      ]),
    ];
  }

  /** What ACLs let pass, as `heddle verify` lists it. */
  #passing(from: string, to: string): readonly Node[] {
    const { proof } = this.#data;
    if (proof === undefined) return [];
    const lines = passingBetween(from, to, proof).flatMap(({ way, headers, unlisted }) => [
      ...(headers.length === 0 ? [`${way}: nothing`] : []),
      ...headers.map((one) => `${way}: ${headersText(one)}`),
      ...(unlisted > 0 ? [`${way}, and the other way: ${unlisted} more that are not listed`] : []),
    ]);
    return section(
      `What ACLs let pass at pods of ${proof.node}`,
      list(lines.map((line) => [line])),
    );
  }

  #pod(key: string): readonly Node[] {
    const pod = this.#data.pods.find((one) => one.key === key);
    if (pod === undefined) return unknown('pod', key);
    const own = pod.interfaces.filter(({ role }) => role !== 'infrastructure-locked');
    return [
      heading(key),
      facts([
        ['node', [pod.node ?? 'none yet']],
        ...pod.interfaces.map(
          ({ network, role, addresses }) =>
            [
              role ?? 'network',
              [networkLink(network), ` ${addresses.join(' ') || 'no address'}`],
            ] as const,
        ),
      ]),
      ...own.flatMap(({ network }) => {
        const others = [...this.#pairs.linkedWith(network)]
          .filter((other) => other !== network)
          .toSorted();
        return [
          ...section(
            `Reached by ${network} from`,
            list(others.flatMap((other) => this.#ways(other, network, other))),
            `Pods of ${network} alone, as far as policies let them.`,
          ),
          ...section(
            `Reaches by ${network}`,
            list(others.flatMap((other) => this.#ways(network, other, other))),
            `Pods of ${network} alone, as far as policies let it.`,
          ),
          ...section(
            `Policies of ${network}`,
            list(
              (this.#networks.get(network)?.policies ?? []).map((one) => [this.#objectLink(one)]),
            ),
          ),
        ];
      }),
      ...this.#yamlOf(`Pod ${key}`),
    ];
  }

  #object(object: string): readonly Node[] {
    if (!this.#yaml.has(object)) return unknown('object', object);
    const opens = [...this.#data.joins, ...this.#data.ways].filter((one) => one.object === object);
    const networks = this.#data.networks.filter(
      (one) =>
        one.object === object || one.services.includes(object) || one.policies.includes(object),
    );
    return [
      heading(object),
      ...section('Networks', list(networks.map(({ name }) => [networkLink(name)]))),
      ...section(
        'Lets through',
        list(
          opens.map((one) =>
            'networks' in one
              ? [`${one.what} of `, ...joined(one.networks.map(networkLink))]
              : [
                  link({ kind: 'pair', from: one.from, to: one.to }, `${one.from} → ${one.to}`),
                  `: ${one.what}`,
                ],
          ),
        ),
      ),
      ...this.#changesOf(object),
      ...this.#yamlOf(object),
    ];
  }

  #yamlOf(object: string): readonly Node[] {
    const yaml = this.#yaml.get(object);
    return [
      element('h2', {}, 'YAML'),
      yaml === undefined
        ? note('The object is not in this page.')
        : element(
            'pre',
            { attributes: { tabindex: '0', 'aria-label': `YAML of ${object}` } },
            yaml,
          ),
    ];
  }

  /** What leads from one network to another, as lines that name `other`. */
  #ways(from: string, to: string, other: string): readonly Children[] {
    return this.#pairs
      .pair(from, to)
      .by.map((one) => [link({ kind: 'pair', from, to }, other), ': ', ...this.#way(one)]);
  }

  #way({ kind, object, what }: Join | Way): Children {
    return [
      element(
        'span',
        { class: `sign ${kind.replace(' ', '-')}`, title: KINDS[kind].words },
        KINDS[kind].sign,
      ),
      ' ',
      this.#objectLink(object),
      `: ${what}`,
    ];
  }

  #messages(messages: readonly { readonly object: string; readonly message: string }[]): Node {
    return list(messages.map(({ object, message }) => [this.#objectLink(object), `: ${message}`]));
  }

  /** An object of which the page has nothing is named. */
  #objectLink(object: string): Node | string {
    if (object.startsWith('Pod ') && this.#yaml.has(object))
      return podLink(object.slice(4), object);
    return this.#yaml.has(object) ? link({ kind: 'object', object }, object) : object;
  }
}

/** As an image: nothing in the picture can run, load or be followed. A click shows it as wide as the window. */
function pictureOf(svg: string, alt: string): HTMLElement {
  const src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  const image = (): HTMLElement => element('img', { attributes: { src, alt } });
  return element(
    'button',
    {
      class: 'picture',
      title: 'larger',
      onClick: () => {
        const dialog = element(
          'dialog',
          { attributes: { 'aria-label': alt }, onClick: () => dialog.close() },
          image(),
        );
        dialog.addEventListener('close', () => dialog.remove());
        document.body.append(dialog);
        dialog.showModal();
      },
    },
    image(),
  );
}
