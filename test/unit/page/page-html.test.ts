import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { assert, property, string } from 'fast-check';
import type { PageData } from '../../../src/page/page-data.ts';
import { embeddedJson, pageHtml } from '../../../src/page/page-html.ts';

const ASSETS = { script: 'console.log(1);', style: 'body { margin: 0 }' };
const dataWith = (name: string): PageData => ({
  heddle: '1',
  node: name,
  time: '2026-01-01T00:00:00.000Z',
  networks: [{ name, subnets: [], namespaces: [], services: [], policies: [] }],
  joins: [],
  ways: [],
  pods: [],
  problems: [],
  objects: [[name, name]],
});
const embedded = (html: string): unknown =>
  JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(html)?.[1] ?? '');

test.each([
  '</script><script>alert(1)</script>',
  '<!--<script>',
  ']]><img src=x onerror=alert(1)>',
  '"><svg onload=alert(1)>',
  '&lt;b&gt;',
])('%s in data is data', (name) => {
  const html = pageHtml(dataWith(name), ASSETS);
  expect(html.match(/<script/g)).toHaveLength(2);
  expect(html.match(/<\/script/g)).toHaveLength(2);
  expect(html).not.toContain('<img');
  expect(embedded(html)).toEqual(dataWith(name));
});

test('no text whatever ends the element that the data is in', () => {
  assert(
    property(string({ unit: 'binary' }), (text) => {
      expect(embeddedJson({ text })).not.toMatch(/[<\u2028\u2029\u202e]/);
    }),
  );
});

test('what turns text round or hides is shown', () => {
  expect(embedded(pageHtml(dataWith('a\u202eb\u200bc'), ASSETS))).toMatchObject({
    node: 'a\\u{202e}b\\u{200b}c',
  });
});

test('nothing but its own script and style is let in, and nothing gets out', () => {
  const html = pageHtml(dataWith('n1'), ASSETS);
  const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(html)?.[1] ?? '';
  const hash = (text: string): string =>
    `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
  expect(
    Object.fromEntries(policy.split('; ').map((one) => one.split(/ (.*)/s).slice(0, 2))),
  ).toEqual({
    'default-src': "'none'",
    'script-src': hash(ASSETS.script),
    'style-src': hash(ASSETS.style),
    'img-src': 'data:',
    'base-uri': "'none'",
    'form-action': "'none'",
  });
  // It is in force before anything else is read.
  expect(html.indexOf('Content-Security-Policy')).toBeLessThan(html.indexOf('<style>'));
  expect(html).not.toMatch(/(?:src|href)=/);
});

test('a script or style that would end its element is refused', () => {
  const data = dataWith('n1');
  expect(() => pageHtml(data, { ...ASSETS, script: 'x = "</script>"' })).toThrow('the script');
  expect(() => pageHtml(data, { ...ASSETS, style: '</STYLE>' })).toThrow('the style');
});
