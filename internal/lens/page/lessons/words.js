// The words of the panel. Those of the lessons are in their texts.
const en = {
  lessons: 'Lessons',
  about: 'Fourteen questions, three minutes each. Answer before it runs: what runs then are the layers themselves; the last shows a recording. A lesson begins a new world.',
  progress: (n, all) => `${n} of ${all} are done`,
  finished: 'done',
  phases: 'Parts of this lesson',
  question: 'Question',
  answer: 'Answer',
  break: 'Break it yourself',
  stages: {
    preparing: 'The state is being brought about …',
    asking: 'The state is there. Look at the boxes, then answer.',
    running: 'It runs …',
    observed: 'It has run.',
    trying: 'Your turn: use the page. The goal is watched.',
    reached: 'The goal is reached.',
  },
  choose: 'Choose one',
  run: 'Run it',
  done: 'What was done',
  observed: 'What was observed',
  holds: 'The layers did what the answer says.',
  fails: 'The layers did something else. Not found among the events:',
  columns: ['ms', 'at', 'key', 'what', 'version or delay'],
  yours: (mine, right) => {
    if (!mine) return `Right is ${right}:`;
    return mine === right ? `Your answer is right, ${right}:` : `You chose ${mine}. Right is ${right}:`;
  },
  whyNot: (mine) => `Why not ${mine}:`,
  breakIt: 'Now break it yourself',
  solve: 'Show me',
  next: 'Next lesson',
  lost: 'This lesson has lost its world: another page began a new one, and that is what you see.',
  again: 'Begin this part again',
  decisive: 'Show the moment that decides',
};

const zh = {
  lessons: '课程',
  about: '十四个问题，每个三分钟。先作答，再运行：真正运行的就是这些层本身，最后一课是一段录像。每一课都会新建一个环境。',
  progress: (n, all) => `已完成 ${n} / ${all} 课`,
  finished: '已完成',
  phases: '本课的各个部分',
  question: '问题',
  answer: '答案',
  break: '动手破坏',
  stages: {
    preparing: '正在准备场景……',
    asking: '场景已就绪。先看一看各个方框，再作答。',
    running: '正在运行……',
    observed: '运行完毕。',
    trying: '轮到你了：用页面上的操作来达成目标，页面会自动检查。',
    reached: '目标已达成。',
  },
  choose: '请选择一项',
  run: '运行',
  done: '执行了哪些操作',
  observed: '实际观察到的事件',
  holds: '各层的行为与答案一致。',
  fails: '各层的行为与答案不符。在事件中没有找到：',
  columns: ['毫秒', '位置', 'key', '内容', '版本或延迟'],
  yours: (mine, right) => {
    if (!mine) return `正确答案是 ${right}：`;
    return mine === right ? `回答正确，答案是 ${right}：` : `你选了 ${mine}，正确答案是 ${right}：`;
  },
  whyNot: (mine) => `为什么不是 ${mine}：`,
  breakIt: '现在动手破坏它',
  solve: '演示一遍',
  next: '下一课',
  lost: '这一课的环境已经不在了：另一个页面新建了一个，现在看到的是那一个。',
  again: '重新开始这一部分',
  decisive: '看决定性的时刻',
};

export const wordsOf = (lang) => ({ en, zh })[lang] || en;
