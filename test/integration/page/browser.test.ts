/** `heddle graph --html` in a real browser: what it shows, by mouse and keyboard, of a small cluster with hostile text and of a large one. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { checkout, program } from '../../../src/lab/paths.ts';
import type { PageData } from '../../../src/page/page-data.ts';
import { pageHtml } from '../../../src/page/page-html.ts';
import { Browser, chromium } from '../../support/run/browser.ts';
import { ownFolder } from '../../support/run/left-behind.ts';

const HOSTILE = `</script><script>window.hacked = 1</script><img src="http://192.0.2.1/x" onerror="window.hacked = 1">`;

/** In what a pod runs, and in an annotation of others: a page is handed on. */
const SECRET = 'open-sesame';

/** examples/connect with a pod whose annotation is hostile. */
function writtenPage(folder: string): string {
  const manifests = join(folder, 'manifests');
  cpSync(join(checkout, 'examples/connect'), manifests, { recursive: true });
  writeFileSync(
    join(manifests, 'hostile.json'),
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'hostile',
        namespace: 'default',
        annotations: { 'k8s.v1.cni.cncf.io/note': HOSTILE, 'other.example/secret': SECRET },
      },
      spec: {
        nodeName: 'n1',
        containers: [{ name: 'c', env: [{ name: 'KEY', value: SECRET }] }],
      },
    }),
  );
  const file = join(folder, 'page.html');
  const { status, stderr } = spawnSync(
    process.execPath,
    [program, 'graph', '--manifests', manifests, '--invent-nodes', '--html', file],
    { encoding: 'utf8' },
  );
  expect([status, stderr]).toEqual([0, expect.stringContaining(`: ${file}`)]);
  return file;
}

/** Many networks, some connected, with pods; what a daemon would say of its changes, if it is there. */
function largePage(
  folder: string,
  networks: number,
  pods: number,
  daemon: Pick<PageData, 'status' | 'changes' | 'plan' | 'proof'> = {},
): string {
  const names = Array.from({ length: networks }, (_, index) => `tenant${index}_net`);
  const data: PageData = {
    heddle: '0',
    node: 'n1',
    time: '2026-01-01T00:00:00.000Z',
    networks: names.map((name, index) => ({
      name,
      object: `UserDefinedNetwork tenant${index}/net`,
      id: index + 1,
      subnets: ['10.20.0.0/16'],
      namespaces: [`tenant${index}`],
      services: [],
      policies: [],
      picture: `<svg xmlns="http://www.w3.org/2000/svg" width="400" height="200">${'<text>a box</text>'.repeat(300)}</svg>`,
    })),
    joins: Array.from({ length: networks / 10 }, (_, index) => ({
      kind: 'connection' as const,
      object: `ClusterNetworkConnect c${index}`,
      networks: names.slice(index * 10, index * 10 + 5),
      what: 'pods and services',
    })),
    ways: names.map((from, index) => ({
      kind: 'leaves' as const,
      object: `UserDefinedNetwork tenant${index}/net`,
      from,
      to: 'outside',
      what: 'all',
    })),
    pods: Array.from({ length: pods }, (_, index) => ({
      key: `tenant${index % networks}/pod${index}`,
      node: 'n1',
      interfaces: [{ network: names[index % networks] ?? '', addresses: ['10.20.0.3/24'] }],
    })),
    problems: [],
    ...daemon,
    objects: [
      ...names.map(
        (_, index) =>
          [`UserDefinedNetwork tenant${index}/net`, 'kind: UserDefinedNetwork\n'] as const,
      ),
      ...Array.from(
        { length: pods },
        (_, index) =>
          [
            `Pod tenant${index % networks}/pod${index}`,
            `apiVersion: v1\nkind: Pod\n${'annotation: text\n'.repeat(30)}`,
          ] as const,
      ),
    ],
  };
  const read = (name: string): string => readFileSync(join(checkout, 'dist/cli', name), 'utf8');
  const file = join(folder, 'large.html');
  writeFileSync(file, pageHtml(data, { script: read('page.js'), style: read('page.css') }));
  return file;
}

const urlOf = (file: string): string => pathToFileURL(file).href;

/** Where somebody wants to look at what is seen. */
async function keep(browser: Browser, name: string): Promise<void> {
  const folder = process.env['HEDDLE_SCREENSHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.png`), await browser.screenshot());
}

const text = (selector: string): string => `document.querySelector('${selector}').innerText`;

if (chromium === undefined)
  process.stderr.write('skipped: the page in a browser: there is no chromium here\n');

describe.skipIf(chromium === undefined)('in a browser', () => {
  test('a page is walked by mouse, asks nobody for anything, and runs nothing of what is in it', async () => {
    const folder = ownFolder('heddle-page');
    const file = writtenPage(folder);
    await using browser = await Browser.open(urlOf(file));
    await keep(browser, 'start');
    const label = await browser.value<string>(
      `document.querySelector('.cell.connection').getAttribute('aria-label')`,
    );
    expect(label).toMatch(/^\S+ to \S+: connection/);
    await browser.click('.cell.connection');
    await browser.until(`${text('#panel h1')}.includes('→')`);
    expect(await browser.value(text('#panel'))).toContain('ClusterNetworkConnect');
    await keep(browser, 'pair');
    await browser.click('#panel a[href^="#object/ClusterNetworkConnect"]');
    await browser.until(`document.querySelector('#panel pre') !== null`);
    expect(await browser.value(text('#panel pre'))).toContain('kind: ClusterNetworkConnect');
    await keep(browser, 'object');
    await browser.click('.rows .name[data-index="2"]');
    await browser.until(`document.querySelector('#panel img')?.naturalWidth > 50`);
    await keep(browser, 'network');
    await browser.click('#panel .picture');
    await browser.until(`document.querySelector('dialog[open] img')?.clientWidth > 900`);
    await keep(browser, 'picture');
    await browser.press('Escape');
    await browser.until(`document.querySelector('dialog') === null`);
    await browser.value(`location.hash = '#pod/default%2Fhostile'`);
    await browser.until(`${text('#panel h1')} === 'default/hostile'`);
    const shown = await browser.value<string>(text('#panel pre'));
    expect(shown).toContain('window.hacked = 1</script>');
    expect(shown).not.toContain(SECRET);
    expect(readFileSync(file, 'utf8').includes(SECRET)).toBe(false);
    expect(await browser.value('typeof window.hacked')).toBe('undefined');
    expect(await browser.value(`document.querySelectorAll('script').length`)).toBe(2);
    await keep(browser, 'pod');
    // The policy stops what would go around all that.
    expect(
      await browser.value(`fetch('http://127.0.0.1:9/').then(() => 'sent', () => 'refused')`),
    ).toBe('refused');
    await browser.value(
      `document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.hacked = 2' }))`,
    );
    expect(await browser.value('typeof window.hacked')).toBe('undefined');
    expect(new Set(browser.asked.filter((url) => url !== 'http://127.0.0.1:9/'))).toEqual(
      new Set([urlOf(file)]),
    );
    const others = browser.complaints.filter((one) => !one.includes('Content Security Policy'));
    expect(others).toEqual([]);
  });

  test('a page is walked by keyboard alone, and in the dark', async () => {
    const folder = ownFolder('heddle-page');
    await using browser = await Browser.open(urlOf(writtenPage(folder)), { isDark: true });
    await keep(browser, 'dark');
    await browser.press('/');
    expect(await browser.value('document.activeElement.id')).toBe('search');
    await browser.type('hostile');
    await browser.until(`${text('#panel h1')} === 'Found: hostile'`);
    await browser.press('Escape', 'Escape');
    expect(await browser.value('document.activeElement.id')).toBe('matrix');
    await browser.press('Home', 'ArrowDown', 'ArrowDown', 'ArrowLeft', 'Enter');
    const name = await browser.value<string>(
      `document.querySelector('.rows .name[data-index="2"]').title`,
    );
    await browser.until(`${text('#panel h1')} === ${JSON.stringify(name)}`);
    await browser.press('ArrowRight', 'Enter');
    await browser.until(`${text('#panel h1')} === ${JSON.stringify(`${name} → outside`)}`);
    expect(
      await browser.value(
        `document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).getAttribute('aria-label')`,
      ),
    ).toContain(`${name} to outside`);
    await keep(browser, 'dark-pair');
    // From the matrix on, the links of what it shows can be reached.
    await browser.press('Tab');
    await browser.until(`document.activeElement.closest('#panel') !== null`);
    expect(browser.complaints).toEqual([]);
  });

  test('what the daemon changed is there in time, drift with who did it, and leads to the objects', async () => {
    const folder = ownFolder('heddle-page');
    const at = (second: number): string => `2026-01-01T00:00:0${second}.000Z`;
    const counts = { added: 1, changed: 0, removed: 2, more: 0 };
    const object = 'UserDefinedNetwork tenant3/net';
    const file = largePage(folder, 10, 10, {
      status: { verdict: 'all is well', isWell: true, problems: [], waiting: [], nodes: [] },
      plan: { rows: 3, networks: [['tenant3_net', 3]] },
      changes: {
        node: 'n1',
        since: at(0),
        count: 9,
        changes: [
          {
            ...counts,
            at: at(2),
            kind: 'drift',
            database: 'Northbound',
            objects: [{ object, rows: 3 }],
            rows: [`ACL ${HOSTILE} was removed`],
            by: ['ovn-nbctl (process 7)'],
          },
          { ...counts, at: at(1), kind: 'wrote', database: 'nftables', objects: [] },
        ],
      },
    });
    await using browser = await Browser.open(urlOf(file));
    await browser.click('#panel a[href="#changes"]');
    await browser.until(`${text('#panel h1')} === 'Changes on n1'`);
    await keep(browser, 'changes');
    const shown = await browser.value<string>(text('#panel'));
    expect(shown).toContain('3 rows are to be changed');
    expect(shown).toContain('2026-01-01 00:00:02 UTC ✗ drift Northbound, by ovn-nbctl (process 7)');
    expect(shown).toContain('2026-01-01 00:00:01 UTC nftables +1 -2');
    expect(shown).toContain('7 older ones are not kept');
    expect(await browser.value('typeof window.hacked')).toBe('undefined');
    await browser.click('#panel a[href^="#object/UserDefinedNetwork"]');
    await browser.until(`${text('#panel h1')} === ${JSON.stringify(object)}`);
    expect(await browser.value(text('#panel'))).toContain('Changed lately');
    await browser.value(`location.hash = '#network/tenant3_net'`);
    await browser.until(`${text('#panel h1')} === 'tenant3_net'`);
    expect(await browser.value(text('#panel'))).toContain('by ovn-nbctl (process 7)');
    expect(browser.complaints).toEqual([]);
  });

  test('a pair of networks that a connection joins says what a proof saw pass there, as the command prints it', async () => {
    const folder = ownFolder('heddle-page');
    const [from, to] = ['tenant0_net', 'tenant1_net'];
    const object = 'ClusterNetworkConnect c0';
    const edge = { to: object, object, where: HOSTILE };
    const file = largePage(folder, 10, 10, {
      proof: {
        node: 'n1',
        time: '2026-01-01T00:00:00.000Z',
        verdict: 'apart',
        digest: 'd',
        networks: [from, to],
        joins: [{ object, networks: [from, to] }],
        violations: [],
        edges: [
          {
            ...edge,
            from,
            passes: [{ destinations: ['10.30.0.0/16'], protocol: 'tcp', ports: [80, 443] }],
            enters: [],
            unlisted: 7,
          },
          {
            ...edge,
            from: to,
            passes: [],
            enters: [{ sources: [HOSTILE], destinations: ['10.30.0.3'], protocol: 'udp' }],
          },
        ],
        undecided: [],
        notProved: [],
      },
    });
    await using browser = await Browser.open(urlOf(file));
    await browser.click('.cell.connection');
    await browser.until(`${text('#panel h1')} === ${JSON.stringify(`${from} → ${to}`)}`);
    await keep(browser, 'passes');
    const shown = await browser.value<string>(text('#panel'));
    expect(shown).toContain('What ACLs let pass at pods of n1');
    expect(shown).toContain(`${from} to ${object}: tcp 80, 443 to 10.30.0.0/16`);
    expect(shown).toContain(`${object} to ${to}: udp from ${HOSTILE} to 10.30.0.3`);
    expect(shown).toContain('7 more that are not listed');
    await browser.click(`#panel a[href="#pair/${to}/${from}"]`);
    await browser.until(`${text('#panel h1')} === ${JSON.stringify(`${to} → ${from}`)}`);
    expect(await browser.value(text('#panel'))).toContain(`${to} to ${object}: nothing`);
    expect(await browser.value('typeof window.hacked')).toBe('undefined');
    expect(browser.complaints).toEqual([]);
  });

  test('500 networks and 5,000 pods: cells in sight alone are there, and scrolling and searching are quick', async () => {
    const folder = ownFolder('heddle-page');
    const file = largePage(folder, 500, 5000);
    await using browser = await Browser.open(urlOf(file));
    const drawn = await browser.value<number>(`performance.getEntriesByName('drawn')[0].startTime`);
    expect(await browser.value(`document.querySelectorAll('.cell').length`)).toBeLessThan(3000);
    await keep(browser, 'large');
    const scrolled = await browser.value<number>(`(async () => {
      const body = document.getElementById('matrix');
      const times = [];
      for (let step = 1; step <= 30; step += 1) {
        const from = performance.now();
        body.scrollTop = step * 300; body.scrollLeft = step * 300;
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        times.push(performance.now() - from);
      }
      return times.toSorted((a, b) => a - b)[15];
    })()`);
    await browser.click('#search');
    const from = performance.now();
    await browser.type('pod4321');
    await browser.until(`${text('#panel')}.includes('tenant321/pod4321')`);
    const searched = performance.now() - from;
    expect(await browser.value(text('#shown'))).toMatch(/^\d of 500 networks$/);
    await keep(browser, 'large-search');
    process.stderr.write(
      `page of 500 networks and 5,000 pods: ${Math.round(statSync(file).size / 1e5) / 10} MB; drawn after ${Math.round(drawn)} ms, a step of scrolling ${Math.round(scrolled)} ms, a search ${Math.round(searched)} ms\n`,
    );
    // Far above what it takes alone: it shows what grows with the square of networks.
    expect(drawn).toBeLessThan(20_000);
    expect(scrolled).toBeLessThan(2000);
    expect(searched).toBeLessThan(10_000);
  });
});
