// 简体中文。
export const zh = {
  title: '透镜',
  connected: '已连接',
  disconnected: '连接已断开，正在重试',
  lessons: '课程',
};
